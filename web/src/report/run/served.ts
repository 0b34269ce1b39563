/** What a run served, and what that cost. */
import { entries, has, list, num, text, texts, type Json } from '../../data/json.js';
import { fixed, latency, percent, plural, threeDigits } from '../../data/number.js';
import { facts, grid, group, notes } from '../dom.js';
import { degrees } from './degrees.js';

export function served(run: Json): HTMLElement | undefined {
  return group(
    'Throughput, memory and cost',
    facts('What was served', [
      ['Throughput', throughput(run)],
      ['Tokens per second', sharedRates(run)],
      ['Goodput', goodput(run)],
      ['Over the seeds', overSeeds(run)],
      ['Completed', completed(run)],
      ['Rejected', rejected(run)],
      ['Clients that gave up', clients(run)],
      ['Part of the run', steady(run)],
      ['Busy', busy(run)],
      ['Batch', batch(run)],
      ['Limited by', limitedBy(run)],
      ['KV cache', kvCache(run)],
      [
        'Prefix hits',
        (num(run, 'prefix_cache_hit_rate') ?? 0) > 0 && share(run, 'prefix_cache_hit_rate', 'of the prompt tokens'),
      ],
      ['KV transfer', transfer(run)],
      ['Cost', cost(run)],
      ['Energy', energy(run)],
    ]),
    byServer(run),
    remarks(run),
  );
}

function remarks(run: Json): HTMLElement | undefined {
  const flagged = list(run, 'flagged_rows').flatMap((row) => {
    const name = text(row, 'row');
    return name === undefined
      ? []
      : [`The answer depends on rows of the tables that stand out from their neighbours: ${name}.`];
  });
  return notes([...texts(run, 'notes'), ...flagged]);
}

/** Returns the figures that are known, with commas between them. */
function joined(...parts: (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(', ');
}

/** Returns a figure with its unit. */
function figure(run: Json, path: string, shown: (value: number) => string, unit: string): string | undefined {
  const value = num(run, path);
  return value === undefined ? undefined : `${shown(value)} ${unit}`;
}

function share(run: Json, path: string, of: string): string | undefined {
  return figure(run, path, (value) => percent(100 * value), of);
}

const whole = (value: number): string => fixed(value, 0);
const tenth = (value: number): string => fixed(value, 1);
const hundredth = (value: number): string => fixed(value, 2);

function throughput(run: Json): string {
  return joined(
    figure(run, 'throughput.requests_per_s', hundredth, 'requests/s'),
    figure(run, 'throughput.output_tokens_per_s', whole, 'output tokens/s'),
    figure(run, 'throughput.total_tokens_per_s', whole, 'tokens/s with prompts'),
  );
}

function sharedRates(run: Json): string {
  return joined(
    figure(run, 'tokens_per_s_per_user', threeDigits, 'per user'),
    figure(run, 'output_tokens_per_s_per_gpu', threeDigits, 'output per GPU'),
    figure(run, 'total_tokens_per_s_per_gpu', threeDigits, 'with prompts per GPU'),
  );
}

function goodput(run: Json): string | undefined {
  if (!has(run, 'goodput')) return undefined;
  const limits = ['ttft', 'tpot', 'e2e'].flatMap((name) => {
    const ms = num(run, `goodput.${name}_ms`);
    return ms === undefined ? [] : [`${name.toUpperCase()} ≤ ${ms} ms`];
  });
  const [met, requests] = [num(run, 'goodput.met'), coveredRequests(run)];
  const counted =
    met === undefined || requests === undefined ? '' : ` (${whole(met)} of ${plural(requests, 'request')})`;
  return `${figure(run, 'goodput.requests_per_s', hundredth, 'requests/s') ?? '-'} with ${limits.join(', ')}${counted}`;
}

/** Returns the requests of the part of the run that its figures cover. */
export function coveredRequests(run: Json): number | undefined {
  const all = num(run, 'requests');
  const without = (num(run, 'steady.warm_up_requests') ?? 0) + (num(run, 'steady.drain_requests') ?? 0);
  return all === undefined ? undefined : all - without;
}

function overSeeds(run: Json): string | undefined {
  const count = num(run, 'seeds.count');
  if (count === undefined) return undefined;
  const range = (path: string, unit: string): string | undefined => {
    const [lowest, highest] = [num(run, `seeds.${path}.lowest`), num(run, `seeds.${path}.highest`)];
    return lowest === undefined || highest === undefined
      ? undefined
      : `${threeDigits(lowest)} to ${threeDigits(highest)} ${unit}`;
  };
  return joined(
    range('requests_per_s', 'requests/s'),
    range('output_tokens_per_s', 'output tokens/s'),
    range('goodput_per_s', 'requests/s within the limits'),
    `${whole(num(run, 'seeds.overloaded') ?? 0)} of ${whole(count)} overloaded`,
  );
}

function completed(run: Json): string | undefined {
  const [done, all] = [num(run, 'completed'), num(run, 'requests')];
  if (done === undefined || all === undefined) return undefined;
  return joined(
    `${whole(done)} of ${plural(all, 'request')}` + ` in ${hundredth(num(run, 'makespan_s') ?? NaN)} simulated s`,
    plural(num(run, 'steps') ?? 0, 'step'),
    plural(num(run, 'preemptions') ?? 0, 'preemption'),
  );
}

function rejected(run: Json): string | undefined {
  const reasons = entries(run, 'rejected_by_reason').filter(
    (it): it is [string, number] => typeof it[1] === 'number' && it[1] > 0,
  );
  if (reasons.length === 0) return undefined;
  return reasons.map(([reason, count]) => `${whole(count)} ${reason.replaceAll('_', ' ')}`).join(', ');
}

function clients(run: Json): string | undefined {
  const abandoned = num(run, 'clients.abandoned');
  if (abandoned === undefined) return undefined;
  const share = percent(100 * (num(run, 'clients.abandoned_share') ?? 0));
  const after = `after ${num(run, 'clients.patience_s') ?? '-'} s without a token`;
  const retries = plural(num(run, 'clients.retries') ?? 0, 'time');
  return `${plural(abandoned, 'request')} (${share}) ${after}, sent again ${retries}`;
}

function steady(run: Json): string | undefined {
  const [from, to] = [num(run, 'steady.from_s'), num(run, 'steady.to_s')];
  if (from === undefined || to === undefined) return has(run, 'steady') ? 'the figures cover the whole run' : undefined;
  const [warm, drain] = [num(run, 'steady.warm_up_requests') ?? 0, num(run, 'steady.drain_requests') ?? 0];
  const without = `${plural(warm, 'request')} of warm-up and ${whole(drain)} of the drain are left out`;
  return `the figures cover ${tenth(from)} to ${tenth(to)} simulated s: ${without}`;
}

function busy(run: Json): string {
  return joined(
    share(run, 'busy_share', 'of the time'),
    figure(run, 'running_mean', tenth, 'requests at once on average'),
  );
}

function batch(run: Json): string | undefined {
  const mean = figure(run, 'batch_size.mean', tenth, 'requests a step on average');
  if (mean === undefined) return undefined;
  const quantiles = ['p50', 'p90', 'p95', 'p99'].flatMap((name) => {
    const value = num(run, `batch_size.${name}`);
    return value === undefined ? [] : [`${name} ${whole(value)}`];
  });
  return `${joined(mean, ...quantiles)} (over the time)`;
}

function limitedBy(run: Json): string | undefined {
  const names: Record<string, string> = {
    max_num_seqs: '--max-num-seqs',
    max_num_batched_tokens: '--max-num-batched-tokens',
    kv_cache: 'the KV cache',
  };
  const shares = entries(run, 'limited_by').filter(
    (it): it is [string, number] => typeof it[1] === 'number' && it[1] >= 0.01,
  );
  shares.sort(([, a], [, b]) => b - a);
  if (shares.length === 0) return undefined;
  return `${shares.map(([name, share]) => `${names[name] ?? name} ${percent(100 * share)}`).join(', ')} of the time`;
}

function kvCache(run: Json): string | undefined {
  const [blocks, peak, mean] = [num(run, 'kv_blocks'), num(run, 'kv_blocks_peak'), num(run, 'kv_blocks_mean')];
  if (!blocks || peak === undefined) return undefined;
  const size = num(run, 'block_size');
  const average = mean === undefined ? '' : `, ${percent((100 * mean) / blocks)} on average`;
  const sized = size === undefined ? '' : ` of ${size} tokens`;
  return `${whole(peak)} of ${whole(blocks)} blocks${sized} at the peak (${percent((100 * peak) / blocks)})${average}`;
}

function transfer(run: Json): string | undefined {
  const mean = num(run, 'disaggregation.transfer_mean_ms');
  if (mean === undefined) return undefined;
  const queue = num(run, 'disaggregation.decode_queue_mean_ms');
  return joined(
    `${latency(mean)} to the decode server`,
    queue === undefined ? undefined : `${latency(queue)} from there to its schedule (means)`,
    share(run, 'disaggregation.link_busy_share', 'of the time the links are busy'),
  );
}

function per(run: Json, path: string, unit: string): string {
  return joined(
    figure(run, `${path}.million_output_tokens`, threeDigits, `${unit} per million output tokens`),
    figure(run, `${path}.million_tokens`, threeDigits, 'with prompts'),
    figure(run, `${path}.request`, (value) => threeDigits(1e3 * value), 'per 1000 requests'),
  );
}

function cost(run: Json): string | undefined {
  if (!has(run, 'cost')) return undefined;
  const usd = num(run, 'cost.usd_per_gpu_hour');
  const price = usd === undefined ? '-' : isMixed(run) ? threeDigits(usd) : usd;
  const origin = [text(run, 'cost.source'), text(run, 'cost.date')].filter((it) => it !== undefined).join(', ');
  const about = `${isMixed(run) ? ' on average' : ''}${origin === '' ? '' : ` (${origin})`}`;
  return `${per(run, 'cost.usd_per', 'USD')}; at ${price} USD per GPU hour${about}`;
}

function energy(run: Json): string | undefined {
  if (!has(run, 'energy_bound')) return undefined;
  const power = `${whole(num(run, 'energy_bound.tdp_w') ?? NaN)} W ${isMixed(run) ? 'on average' : 'each'}`;
  return `at most ${per(run, 'energy_bound.wh_per', 'Wh')}: the GPUs alone, ${power} while a step runs`;
}

/** Whether the servers are of several kinds, so that prices and powers are means. */
function isMixed(run: Json): boolean {
  return list(run, 'servers').length > 0;
}

function byServer(run: Json): HTMLElement | undefined {
  const kinds = list(run, 'servers');
  if (kinds.length === 0) return undefined;
  const ms = (value: number | undefined): string => value === undefined ? '-' : latency(value);
  const rows = kinds.map((kind) => {
    const role = text(kind, 'role');
    const named = role === 'prefill' || role === 'decode' ? `${role}: ` : '';
    const servers = num(kind, 'servers') ?? 1;
    const of = num(kind, 'share');
    return [
      `${named}${servers} × ${text(kind, 'gpu') ?? 'unknown'} ${degrees(kind)}`,
      whole(num(kind, 'requests') ?? 0),
      of === undefined ? '-' : percent(100 * of),
      ms(num(kind, 'ttft_ms.p99')),
      ms(num(kind, 'tpot_ms.p99')),
      percent(100 * (num(kind, 'busy_share') ?? 0)),
      percent((100 * (num(kind, 'kv_blocks_peak') ?? 0)) / Math.max(1, num(kind, 'kv_blocks') ?? 1)),
    ];
  });
  return grid('By kind of server', ['Servers', 'Requests', 'Share', 'TTFT p99', 'TPOT p99', 'Busy', 'KV peak'], rows);
}
