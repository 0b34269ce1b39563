/** The section of a single step. */
import { chart, type Colour, type Point, type Series } from '../chart/index.js';
import { entries, get, has, list, num, numbers, text, texts, truth, type Json } from '../data/json.js';
import { fixed, percent, plural, threeDigits } from '../data/number.js';
import { absent, answer, command, facts, grid, group, notes, paragraph, type Child } from './dom.js';
import { placement } from './run/answer.js';
import { degrees, formats } from './run/deployment.js';

export function stepSection(step: Json): Child[] {
  const words = text(step, 'command');
  return [
    ...stepAnswer(step),
    facts('Deployment and batch', [
      ['Model', model(step)],
      ['GPUs', `${num(step, 'gpus') ?? '-'} × ${text(step, 'gpu') ?? 'unknown'}, ${degrees(step)}`],
      ['Engine', text(step, 'engine')],
      ['Latency model', text(step, 'latency_model')],
      ['Batch', batch(step)],
      ['KV cache', memory(step)],
    ]),
    words !== undefined && command(words),
    group('Parts of the step', partBars(step), partTable(step)),
    group('Roofline', roofline(step)),
    notes([...texts(step, 'notes'), ...misfit(step)]),
  ];
}

function stepAnswer(step: Json): HTMLElement[] {
  const total = num(step, 'total_ms');
  if (total === undefined) return [answer(`${placement(step)}: the report names no time of the step.`)];
  const largest = numbers(step, 'parts').sort(([, a], [, b]) => b - a)[0];
  const most = largest === undefined ? '' : `; ${largest[0]} takes ${percent((100 * largest[1]) / total)} of it`;
  const bound = text(step, 'binding');
  return [
    answer(`A step of ${placement(step)} takes ${fixed(total, 3)} ms${most}${bound === undefined ? '' : `, and ${bound} bounds the step`}.`),
    paragraph(`${error(step)} ${origin(step)}`),
  ];
}

function error(step: Json): string {
  const [low, high, coverage] = [num(step, 'interval.low_ms'), num(step, 'interval.high_ms'), num(step, 'interval.coverage')];
  if (low === undefined || high === undefined) return 'The errors of this latency model are not known.';
  return `${percent(100 * (coverage ?? 0))} of measurements are expected between ${fixed(low, 3)} and ${fixed(high, 3)} ms.`;
}

function origin(step: Json): string {
  const [least, extent, fitted] = [text(step, 'class'), text(step, 'extent'), num(step, 'fitted_share')];
  const said = [
    least !== undefined && `The least certain looked-up time is ${least}${extent === undefined ? '' : `, ${extent} of the measured ranges`}`,
    fitted !== undefined && `${percent(100 * fitted)} of the time is fitted`,
  ].filter(Boolean);
  return said.length === 0 ? '' : `${said.join('; ')}.`;
}

function model(step: Json): string {
  const [parameters, bytes] = [num(step, 'parameters'), num(step, 'weight_bytes')];
  return [
    text(step, 'model') ?? 'unknown',
    parameters !== undefined && `${fixed(parameters / 1e9, 2)} billion parameters`,
    bytes !== undefined && `${fixed(bytes / 1e9, 1)} GB of ${formats(step)} weights`,
  ].filter(Boolean).join(', ');
}

function batch(step: Json): string {
  const [prefill, requests, kv] = [num(step, 'prefill_tokens') ?? 0, num(step, 'decode_requests') ?? 0, num(step, 'decode_kv_tokens') ?? 0];
  return [
    prefill > 0 && `${plural(prefill, 'token')} of prefill`,
    requests > 0 && `${plural(requests, 'decode request')} over ${fixed(kv, 0)} KV tokens`,
  ].filter(Boolean).join(', ');
}

function memory(step: Json): string | undefined {
  const [needed, max] = [num(step, 'memory.kv_blocks'), num(step, 'memory.max_kv_blocks')];
  return needed === undefined || max === undefined ? undefined : `${fixed(needed, 0)} of ${plural(max, 'block')}`;
}

function misfit(step: Json): string[] {
  return has(step, 'memory') && !truth(step, 'memory.fits') ? ['No server could hold this batch beside the weights.'] : [];
}

/** Classes of origin in the order of their certainty, each with its colour. */
const CLASSES = ['measured', 'interpolated', 'smoothed', 'transferred', 'bound', 'fitted'];
const CLASS_COLOURS: Colour[] = [2, 0, 4, 3, 6, 1];

/** Returns where a part's time comes from. */
function sourceOf(part: Json): string {
  const looked = text(part, 'class');
  const isFitted = (num(part, 'fitted_share') ?? 0) > 0;
  if (looked !== undefined) return isFitted ? `${looked}, partly fitted` : looked;
  return isFitted ? 'fitted' : 'unknown';
}

/** Returns the class that the colour stands for. */
const classOf = (source: string): string => source.split(',')[0] ?? source;

/** Returns a series for each class of origin that occurs. */
function byClass<Row>(rows: Row[], source: (row: Row) => string, mark: Series['mark'], point: (row: Row) => Point): Series[] {
  const found = [...new Set(rows.map((row) => classOf(source(row))))];
  found.sort((a, b) => CLASSES.indexOf(a) - CLASSES.indexOf(b));
  return found.map((of) => ({
    name: of,
    mark,
    colour: CLASS_COLOURS[CLASSES.indexOf(of)] ?? 'muted',
    points: rows.filter((row) => classOf(source(row)) === of).map(point),
  }));
}

interface Part {
  name: string;
  ms: number;
  json: Json;
}

function parts(step: Json): Part[] {
  const details = new Map(entries(step, 'part_details'));
  const all = numbers(step, 'parts').filter(([, ms]) => ms > 0);
  return all.map(([key, ms]) => ({ name: key, ms, json: details.get(key) })).sort((a, b) => b.ms - a.ms);
}

function partBars(step: Json): Child {
  const all = parts(step);
  if (all.length === 0) return undefined;
  const [total, low, high] = [num(step, 'total_ms'), num(step, 'interval.low_ms'), num(step, 'interval.high_ms')];
  const categories = all.map((part) => part.name);
  const series = byClass(all, (part) => sourceOf(part.json), 'stack', (part): Point => ({
    x: part.ms,
    y: all.indexOf(part),
    note: [sourceOf(part.json), text(part.json, 'binding') !== undefined && `bound by ${text(part.json, 'binding')}`].filter(Boolean).join(', '),
  }));
  if (total !== undefined) {
    categories.push('total');
    const interval = low === undefined || high === undefined ? {} : { low, high };
    series.push({ name: 'total', mark: 'stack', colour: 'muted', points: [{ x: total, y: all.length, ...interval }] });
  }
  return chart({
    title: `Time of the step by part (ms)${low === undefined ? '' : ', the total with its interval'}`,
    note: 'The colour tells where a time comes from.',
    x: { label: 'Time (ms)', scale: 'linear', digits: 4 },
    y: { label: 'Part', scale: 'band', categories },
    series,
    height: 70 + 24 * categories.length,
  });
}

function partTable(step: Json): Child {
  const all = parts(step);
  const total = num(step, 'total_ms');
  if (all.length === 0 || total === undefined) return undefined;
  const rows = all.map((part) => [
    part.name,
    fixed(part.ms, 3),
    share((100 * part.ms) / total),
    text(part.json, 'binding') ?? '-',
    `${sourceOf(part.json)}${text(part.json, 'extent') === 'outside' ? ', outside of the measured ranges' : ''}`,
  ]);
  return grid('Parts of the step', ['Part', 'ms', 'Share', 'Bound by', 'Origin'], [...rows, ['total', fixed(total, 3), '', text(step, 'binding') ?? '-', text(step, 'class') ?? '-']]);
}

/** Formats a share with a decimal, as the command does. */
function share(percents: number): string {
  return percents < 0.05 ? percent(percents) : `${fixed(percents, 1)} %`;
}

interface Kernel {
  intensity: number;
  tflops: number;
  json: Json;
}

function kernels(step: Json): Kernel[] {
  return list(step, 'kernels').flatMap((json) => {
    const [flops, bytes, ms] = [num(json, 'flops'), num(json, 'bytes'), num(json, 'ms')];
    if (!flops || !bytes || !ms || flops < 0 || bytes < 0 || ms < 0) return [];
    return [{ intensity: flops / bytes, tflops: flops / ms / 1e9, json }];
  });
}

/** The throughput of each kernel over its arithmetic intensity, under the ceilings of the GPU. */
function roofline(step: Json): HTMLElement {
  const dots = kernels(step);
  const bandwidth = num(step, 'peaks.mem_bw_bytes_per_s');
  if (dots.length === 0 || !bandwidth) {
    return absent('FLOPs and bytes of the kernels are not in this report.', 'Make it again with this version of ', 'rooflut step --json');
  }
  const used = new Set(dots.map(({ json }) => text(json, 'dtype')));
  const peaks = numbers(step, 'peaks.flops_per_s').filter(([dtype, flops]) => flops > 0 && (used.has(dtype) || used.size === 0));
  const ceilings = peaks.length > 0 ? peaks : numbers(step, 'peaks.flops_per_s').slice(0, 1);
  const ridge = Math.max(...ceilings.map(([, flops]) => flops / bandwidth), 1);
  const intensities = dots.map((dot) => dot.intensity);
  const [from, to] = [Math.min(...intensities, 1) / 2, Math.max(...intensities, ridge) * 3];
  const roofs = ceilings.map(([dtype, flops]): Series => ({
    name: `${dtype} ${threeDigits(flops / 1e12)} TFLOP/s`,
    mark: 'line',
    colour: 'muted',
    points: [from, flops / bandwidth, to].map((x) => ({ x, y: Math.min(x * bandwidth, flops) / 1e12 })),
  }));
  const series = byClass(dots, ({ json }) => sourceOf(json), 'dots', (dot): Point => ({
    x: dot.intensity,
    y: dot.tflops,
    label: label(dot.json),
    note: `${fixed(num(dot.json, 'ms') ?? 0, 3)} ms${text(dot.json, 'binding') === undefined ? '' : `, bound by ${text(dot.json, 'binding')}`}`,
  }));
  const slow = dots.reduce((most, dot) => (num(dot.json, 'ms') ?? 0) > (num(most.json, 'ms') ?? 0) ? dot : most);
  const peak = ceilings.find(([dtype]) => dtype === text(slow.json, 'dtype')) ?? ceilings[0];
  const roof = Math.min(slow.intensity * bandwidth, peak?.[1] ?? Infinity) / 1e12;
  return chart({
    title: `The longest kernel (${label(slow.json)}) reaches ${percent((100 * slow.tflops) / roof)} of its roof`,
    note: `Lines: memory bandwidth of ${threeDigits(bandwidth / 1e12)} TB/s and peak of each format. Kernels without FLOPs or bytes, such as those of the host, are left out. Both axes are logarithmic; the colour tells where a time comes from.`,
    x: { label: 'Arithmetic intensity (FLOPs per byte of memory traffic)', scale: 'log', domain: [from, to] },
    y: { label: 'Throughput (TFLOP/s)', scale: 'log' },
    series: [...roofs, ...series],
    height: 400,
  });
}

function label(kernel: Json): string {
  const shape = get(kernel, 'shape');
  const shown = typeof shape === 'string' ? shape : entries(kernel, 'shape').map(([key, value]) => `${key} ${typeof value === 'number' ? fixed(value, 0) : String(value)}`).join(', ');
  const about = [text(kernel, 'operation'), shown].filter(Boolean).join(' ');
  return [text(kernel, 'part'), about].filter(Boolean).join(': ');
}
