/** Limits on latencies. */
import { num, type Json } from '../data/json.js';
import { fixed } from '../data/number.js';

export interface LatencyLimit {
  name: string;
  ms: number;
}

/** Returns the limits of the goodput of a run. */
export function goodputLimits(run: Json): LatencyLimit[] {
  const names: [string, string][] = [['TTFT', 'ttft_ms'], ['TPOT', 'tpot_ms'], ['E2E', 'e2e_ms']];
  return names.flatMap(([name, key]) => {
    const ms = num(run, `goodput.${key}`);
    return ms === undefined ? [] : [{ name, ms }];
  });
}

/** Returns a limit in words: `p99 TTFT of at most 500 ms`. */
export function limitInWords(limit: string): string {
  const read = readLimit(limit);
  return read ? `${read.figure} ${read.name} of at most ${givenMs(read.ms)}` : limit;
}

/** Formats milliseconds that were given, with all their digits. */
export function givenMs(ms: number): string {
  return `${Number.isInteger(ms) ? fixed(ms, 0) : ms} ms`;
}

/** Reads a limit as `plan` and `saturate` write it: `ttft:500@p99`. */
export function readLimit(limit: string): { name: string; ms: number; figure: string } | undefined {
  const [, name, ms, figure] = /^(ttft|tpot|e2e):([\d_.e+-]+)(?:@(\w+(?:\.\w+)?))?$/.exec(limit) ?? [];
  const value = Number(ms?.replaceAll('_', ''));
  return name === undefined || !Number.isFinite(value)
    ? undefined
    : { name: name.toUpperCase(), ms: value, figure: figure ?? 'p99' };
}
