/** Requests of a run over time, from `--requests-out`. */
import { timeline, type Phase } from '../../chart/index.js';
import type { Csv } from '../../data/csv.js';
import { fixed, latency, plural } from '../../data/number.js';
import { absent } from '../dom.js';

const PHASES: Phase[] = [
  { name: 'queue', colour: 'muted' },
  { name: 'prefill', colour: 0 },
  { name: 'decode', colour: 1 },
];

export function requestTimeline(csv: Csv): HTMLElement[] {
  const arrivals = csv.numbers('arrival_ms');
  const [queue, ttft, e2e] = ['queue_ms', 'ttft_ms', 'e2e_ms'].map((name) => csv.numbers(name));
  if (!arrivals || !queue || !ttft || !e2e || csv.rows === 0) {
    return [absent('The file of requests has no times.', 'Write it with ', '--requests-out')];
  }
  const served: number[] = [];
  for (let row = 0; row < csv.rows; row++)
    if (Number.isFinite(e2e[row]) && Number.isFinite(arrivals[row])) served.push(row);
  const after = (of: Float64Array) =>
    Float64Array.from(served, (row) => ((arrivals[row] ?? 0) + (of[row] ?? NaN)) / 1e3);
  const replicas = csv.numbers('replica');
  const group = replicas && Uint32Array.from(served, (row) => replicas[row] || 0);
  const count = group ? group.reduce((most, replica) => Math.max(most, replica), 0) + 1 : 1;
  const at = (request: number): number => served[request] ?? 0;
  const figure = timeline({
    title: `${plural(served.length, 'request')}: queue, prefill and decode over time`,
    note: notes(csv.rows - served.length),
    x: { label: 'Simulated time (s)' },
    phases: PHASES,
    starts: Float64Array.from(served, (row) => (arrivals[row] ?? 0) / 1e3),
    ends: [after(queue), after(ttft), after(e2e)],
    ...(group && count > 1 && count <= 64
      ? { group, groups: Array.from({ length: count }, (_, replica) => `replica ${replica}`) }
      : {}),
    label: (request) => `request ${csv.cell(at(request), 'request')}`,
    detail: (request) => detail(csv, at(request)),
  });
  return [figure];
}

function notes(rejected: number): string {
  const said = ['TTFT is queue and prefill together; E2E is the whole bar.'];
  if (rejected > 0)
    said.push(`${plural(rejected, 'request')} without an answer ${rejected === 1 ? 'is' : 'are'} left out.`);
  return said.join(' ');
}

function detail(csv: Csv, row: number): string {
  const tokens = (name: string): string => fixed(Number(csv.cell(row, name)), 0);
  const times = (['queue', 'ttft', 'tpot', 'e2e'] as const).flatMap((name) => {
    const cell = csv.cell(row, `${name}_ms`);
    return cell === '' ? [] : [`${name === 'queue' ? name : name.toUpperCase()} ${latency(Number(cell))}`];
  });
  return [`${tokens('prompt_tokens')} prompt + ${tokens('output_tokens')} output tokens`, ...times].join(', ');
}

