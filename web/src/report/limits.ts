/** Limits on latencies. */
import { num, type Json } from '../data/json.js';

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

/** Reads a limit as `plan` and `saturate` write it: `ttft:500@p99`. */
export function readLimit(limit: string): { name: string; ms: number; figure: string } | undefined {
  const [, name, ms, figure] = /^(ttft|tpot|e2e):([\d_.e+-]+)(?:@(\w+(?:\.\w+)?))?$/.exec(limit) ?? [];
  const value = Number(ms?.replaceAll('_', ''));
  return name === undefined || !Number.isFinite(value) ? undefined : { name: name.toUpperCase(), ms: value, figure: figure ?? 'p99' };
}
