/** What was simulated: model, servers and load as a table. */
import { get, has, list, num, text, type Json } from '../../data/json.js';
import { fixed, percent, plural } from '../../data/number.js';
import { facts, type Fact } from '../dom.js';
import { degrees } from './degrees.js';

export function deployment(run: Json): HTMLElement | undefined {
  return facts('Deployment and load', [
    ['Model', model(run)],
    ['GPUs', gpus(run)],
    ['Servers', servers(run)],
    ['Engine', engine(run)],
    ['Limits of a server', limits(run)],
    ['Load', load(run)],
    ['Speculative decoding', speculation(run)],
    ['Tables', text(run, 'table_engine')],
    ['Source of the tables', text(run, 'table_source')],
    ['Scenario', text(run, 'scenario.path')],
  ]);
}

function model(run: Json): string | undefined {
  const name = text(run, 'model');
  if (name === undefined) return undefined;
  const [parameters, bytes] = [num(run, 'parameters'), num(run, 'weight_bytes')];
  const size = [
    parameters !== undefined && `${fixed(parameters / 1e9, 2)} billion parameters`,
    bytes !== undefined && `${fixed(bytes / 1e9, 1)} GB of ${formats(run)} weights`,
    text(run, 'kv_dtype') !== undefined && `${text(run, 'kv_dtype')} KV cache`,
  ].filter(Boolean);
  return [name, ...size].join(', ');
}

/** Returns the formats of the weights: `mxfp4 (experts) and bf16`. */
export function formats(json: Json): string {
  const [weights, experts] = [text(json, 'weight_dtype') ?? 'unknown', text(json, 'expert_dtype')];
  return experts === undefined || experts === weights ? weights : `${experts} (experts) and ${weights}`;
}

function gpus(run: Json): string | undefined {
  const count = num(run, 'gpus');
  if (count === undefined) return undefined;
  const base = text(run, 'base');
  const gpu = text(run, 'gpu') ?? 'unknown';
  const named = gpu.includes('+') ? `${fixed(count, 0)} of ${gpu}` : `${fixed(count, 0)} × ${gpu}`;
  return named + (base === undefined ? '' : `, with efficiencies of ${base}`);
}

function servers(run: Json): string | undefined {
  const replicas = num(run, 'replicas');
  if (replicas === undefined) return undefined;
  const [prefill, decode] = [num(run, 'disaggregation.prefill_replicas'), num(run, 'disaggregation.decode_replicas')];
  const router = text(run, 'router');
  const routed = router === undefined ? '' : `, routed by ${router.replaceAll('_', ' ')}`;
  if (prefill !== undefined && decode !== undefined)
    return `${prefill} prefill + ${decode} decode, ${degrees(run)}${routed}`;
  if (list(run, 'servers').length > 1) return `${fixed(replicas, 0)} of several kinds${routed}`;
  return `${fixed(replicas, 0)} × ${degrees(run)}${routed}`;
}

function engine(run: Json): string | undefined {
  const scheduling = text(run, 'scheduling');
  return [
    text(run, 'engine'),
    scheduling !== undefined && `${scheduling} scheduling`,
    text(run, 'sampler') !== undefined && `${text(run, 'sampler')} sampler`,
  ]
    .filter(Boolean)
    .join(', ');
}

function limits(run: Json): string {
  const said: [string, string][] = [
    ['max_num_seqs', 'sequences'],
    ['max_num_batched_tokens', 'tokens a step'],
    ['max_model_len', 'tokens a request'],
    ['max_waiting', 'waiting requests'],
  ];
  return said.flatMap(([key, unit]) => {
    const value = num(run, key);
    return value === undefined ? [] : [`${fixed(value, 0)} ${unit}`];
  }).join(', ');
}

function load(run: Json): string | undefined {
  if (!has(run, 'load')) return undefined;
  const requests = num(run, 'requests');
  const counted = requests === undefined ? '' : `${fixed(requests, 0)} requests: `;
  const path = text(run, 'load.path');
  if (path !== undefined) {
    const speed = num(run, 'load.speed') ?? 1;
    const sped = speed === 1 ? '' : `, at ${speed} times its speed`;
    return `${counted}${path} (${text(run, 'load.format') ?? 'trace'})${sped}`;
  }
  const seed = num(run, 'seed');
  const said = [
    `${arrivals(run)}${seed === undefined ? '' : ` (seed ${seed})`}`,
    `${lengths(get(run, 'load.prompt_tokens'))} prompt + ${lengths(get(run, 'load.output_tokens'))} output tokens`,
    prefixes(run),
    has(run, 'load.sessions') && `sessions of ${lengths(get(run, 'load.sessions.turns'))} turns`,
  ];
  return counted + said.filter(Boolean).join('; ');
}

function prefixes(run: Json): string | undefined {
  const [groups, tokens] = [num(run, 'load.prefixes.groups'), num(run, 'load.prefixes.tokens')];
  const cached = num(run, 'load.cached_prompt_share');
  if (groups !== undefined && tokens !== undefined)
    return `${fixed(groups, 0)} shared prefixes of ${fixed(tokens, 0)} tokens`;
  return cached === undefined ? undefined : `${percent(100 * cached)} of each prompt cached`;
}

function arrivals(run: Json): string {
  const users = num(run, 'load.users');
  const pause = num(run, 'load.think_time_s') ?? num(run, 'load.think_time_s.mean');
  if (users !== undefined)
    return `${plural(users, 'user')} who wait for each answer${pause ? ` and pause ${pause} s` : ''}`;
  const rate = num(run, 'load.requests_per_s') ?? num(run, 'load.sessions_per_s');
  const unit = num(run, 'load.requests_per_s') === undefined ? 'sessions' : 'requests';
  const kinds: Record<string, string> = { poisson: 'Poisson', constant: 'equal gaps', gamma: 'gamma' };
  const kind = text(run, 'load.kind') ?? 'unknown';
  return `${rate === undefined ? 'unknown' : rate} ${unit} per second, ${kinds[kind] ?? kind}`;
}

/** Returns a distribution of lengths: `512`, `100 to 900 (uniform)`. */
function lengths(json: Json): string {
  if (typeof json === 'number') return fixed(json, 0);
  const distribution = text(json, 'distribution') ?? 'unknown';
  const [min, max] = [num(json, 'min'), num(json, 'max')];
  const range = min === undefined || max === undefined ? '' : `${fixed(min, 0)} to ${fixed(max, 0)}`;
  const middle = num(json, 'mean') ?? num(json, 'median');
  if (middle === undefined) return `${range} (${distribution})`;
  const typical = num(json, 'mean') === undefined ? 'median' : 'mean';
  return `${fixed(middle, 0)} (${typical}, ${distribution}${range === '' ? '' : `, ${range}`})`;
}

function speculation(run: Json): Fact[1] {
  const drafts = num(run, 'speculation.draft_tokens');
  if (drafts === undefined) return undefined;
  const [per, accepted] = [num(run, 'speculation.tokens_per_step'), num(run, 'speculation.accepted_share')];
  return [
    `${drafts} tokens drafted by ${text(run, 'speculation.draft_model') ?? 'unknown'}`,
    per !== undefined && `${fixed(per, 2)} tokens a request and step`,
    accepted !== undefined && `${percent(100 * accepted)} of the drafts accepted`,
  ].filter(Boolean).join(', ');
}
