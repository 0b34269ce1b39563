/** A step of a run's average batch, as `rooflut step --json` has it. */
import type { Rooflut } from '../../../bindings/wasm/js/rooflut.js';
import type { Model } from '../../../bindings/wasm/js/model.js';
import { get, num, type Json } from '../data/json.js';

/** Share of measurements that the interval is meant to contain. */
const COVERAGE = 0.8;

/** Keys of a run that a step has, too. */
const SHARED = [
  'model',
  'parameters',
  'weight_bytes',
  'weight_dtype',
  'expert_dtype',
  'gpu',
  'base',
  'gpus',
  'tp',
  'dp',
  'pp',
  'expert_parallel',
  'engine',
];

/** Returns the step that decodes one token of each request of the average batch; `undefined` for a run without one. */
export async function averageStep(
  library: Rooflut,
  scenario: string,
  model: Model | undefined,
  run: Json,
): Promise<string | undefined> {
  const [requests, kvTokens] = [Math.round(num(run, 'batch_size.mean') ?? 0), heldTokens(run)];
  if (requests < 1 || kvTokens < requests) return undefined;
  const server = await library.scenario(scenario, model ? { model } : {});
  try {
    const batch = { decode: [{ requests, kvTokens }] };
    const time = server.step(batch);
    const [low, high] = server.stepInterval(batch, COVERAGE);
    return JSON.stringify({
      ...(JSON.parse(server.stepKernels(batch)) as Json & object),
      ...Object.fromEntries(SHARED.map((key) => [key, get(run, key)])),
      prefill_tokens: 0,
      decode_requests: requests,
      decode_kv_tokens: kvTokens,
      total_ms: 1e3 * time.seconds,
      interval: { coverage: COVERAGE, low_ms: 1e3 * low, high_ms: 1e3 * high },
      fitted_share: time.parts.reduce((sum, part) => sum + part.seconds * part.fittedShare, 0) / time.seconds,
      parts: Object.fromEntries(time.parts.map(({ part, seconds }) => [part, 1e3 * seconds])),
      part_details: Object.fromEntries(
        time.parts.map((part) => [
          part.part,
          {
            binding: part.binding,
            fitted_share: part.fittedShare,
            class: part.class === 'fitted' ? null : part.class,
            extent: part.isOutside ? 'outside' : 'inside',
            source: part.class === 'fitted' ? 'fitted' : part.fittedShare > 0 ? 'both' : 'tables',
          },
        ]),
      ),
    });
  } finally {
    server.free();
  }
}

/** Returns the KV tokens of the average batch, from the blocks that it holds. */
function heldTokens(run: Json): number {
  const blocks = num(run, 'kv_blocks_mean') ?? 0;
  return Math.round(blocks * (num(run, 'block_size') ?? 0));
}
