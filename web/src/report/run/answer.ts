/** The answer of a run in a sentence, with its error and its origin. */
import { has, num, numbers, text, truth, type Json } from '../../data/json.js';
import { fixed, latency, percent, plural, threeDigits } from '../../data/number.js';
import { answer, notes, paragraph } from '../dom.js';
import { coveredRequests } from './served.js';

export function runAnswer(run: Json): HTMLElement[] {
  const said = [answer(sentence(run)), paragraph(`${error(run)} ${origin(run)}`)];
  const warned = notes(warnings(run));
  return warned ? [...said, warned] : said;
}

/** Returns the model on its GPUs: `llama-3.1-8b on 2 x h100`. */
export function placement(json: Json): string {
  const model = text(json, 'model') ?? 'the model';
  const gpus = num(json, 'gpus');
  const gpu = text(json, 'gpu') ?? 'unknown';
  return `${model} on ${gpus === undefined ? '' : `${fixed(gpus, 0)} `}${gpu} ${gpus === 1 ? 'GPU' : 'GPUs'}`;
}

function sentence(run: Json): string {
  const rate = num(run, 'throughput.requests_per_s');
  const tokens = num(run, 'throughput.output_tokens_per_s');
  if (rate === undefined) return `${placement(run)}: the report names no throughput.`;
  const served =
    `serves ${fixed(rate, 2)} requests/s` + (tokens === undefined ? '' : ` (${fixed(tokens, 0)} output tokens/s)`);
  const latencies = [
    named(run, 'p99 TTFT', 'ttft_ms.p99') ?? named(run, 'mean TTFT', 'ttft_ms.mean'),
    named(run, 'mean TPOT', 'tpot_ms.mean'),
  ].filter((it) => it !== undefined);
  const within = latencies.length === 0 ? '' : ` with a ${latencies.join(' and a ')}`;
  return `${placement(run)} ${served}${within}${verdict(run)}.`;
}

function named(run: Json, name: string, path: string): string | undefined {
  const ms = num(run, path);
  return ms === undefined ? undefined : `${name} of ${latency(ms)}`;
}

function verdict(run: Json): string {
  if (truth(run, 'overloaded')) return ', but is overloaded';
  const met = num(run, 'goodput.met');
  const requests = coveredRequests(run);
  if (met === undefined || !requests) return '';
  if (met >= requests) return '; all requests meet the limits';
  // Rounded down, so that 100 % means all.
  const share = (100 * met) / requests;
  return `; ${percent(share < 10 ? share : Math.floor(share))} of the requests meet the limits`;
}

/** Returns how well the figures are known. */
function error(run: Json): string {
  const parts: string[] = [];
  if (has(run, 'interval')) {
    const coverage = percent(100 * (num(run, 'interval.coverage') ?? 0));
    const range = (path: string, shown: (value: number) => string): string | undefined => {
      const [low, high] = [num(run, `${path}.low`), num(run, `${path}.high`)];
      return low === undefined || high === undefined || shown(low) === shown(high)
        ? undefined
        : `${shown(low)} to ${shown(high)}`;
    };
    const ranges = [
      ['p99 TTFT', range('interval.ttft_ms.p99', latency), ''],
      ['mean TPOT', range('interval.tpot_ms.mean', latency), ''],
      ['throughput', range('interval.requests_per_s', threeDigits), ' requests/s'],
    ].filter(([, text]) => text !== undefined).map(([name, text, unit]) => `${name} ${text}${unit}`);
    if (ranges.length > 0) parts.push(`${coverage} intervals: ${ranges.join('; ')}.`);
  }
  const mean = num(run, 'steady.mean_error');
  if (mean !== undefined && mean > 0) parts.push(`Random arrivals leave an error of ±${percent(100 * mean)} on means.`);
  if (!has(run, 'interval'))
    parts.push('The error of the model is not part of this report: run again with --interval 0.8.');
  return parts.join(' ');
}

/** Returns the sources of the time of the steps. */
export function origin(run: Json): string {
  const shares = numbers(run, 'time_share_by_source').filter(([, share]) => share > 0);
  if (shares.length === 0) return '';
  const named = shares.map(([name, share]) => `${percent(100 * share)} ${name}`);
  const outside = num(run, 'time_share_outside') ?? 0;
  const beyond = outside > 0 ? `; ${percent(100 * outside)} lie outside of the measured ranges` : '';
  return `Origin of the step time: ${named.join(', ')}${beyond}.`;
}

function warnings(run: Json): string[] {
  const said: string[] = [];
  if (truth(run, 'overloaded')) {
    const [first, last] = [num(run, 'queue_growth.first_quarter_ms'), num(run, 'queue_growth.last_quarter_ms')];
    const growth =
      first === undefined || last === undefined
        ? ''
        : `: the mean queue time grows from ${latency(first)} in the first quarter of the requests ` +
          `to ${latency(last)} in the last`;
    said.push(`The servers do not keep up with this rate${growth}. The figures depend on the length of the run.`);
  } else if (!truth(run, 'steady.is_steady') && !truth(run, 'steady.is_transient') && has(run, 'steady')) {
    said.push('The run ends before the servers reach a steady state; use more requests, or a lower rate.');
  }
  const rejected = num(run, 'rejected') ?? 0;
  if (rejected > 0) {
    const some = `${plural(rejected, 'request')} of ${fixed(num(run, 'requests') ?? NaN, 0)}`;
    said.push(`${some} ${rejected === 1 ? 'is' : 'are'} rejected; the latencies are those of the others.`);
  }
  const share = num(run, 'busiest_replica_share');
  if (share !== undefined)
    said.push(`One server serves ${percent(100 * share)} of the tokens, so that the others stand idle.`);
  return said;
}
