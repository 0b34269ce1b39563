/** The section of a single step. */
import { chart, type Point } from '../chart/index.js';
import { entries, has, num, numbers, text, texts, truth, type Json } from '../data/json.js';
import { fixed, percent, plural } from '../data/number.js';
import { byClass, sourceOf } from './classes.js';
import { answer, command, facts, grid, group, notes, paragraph, type Child } from './dom.js';
import { roofline } from './roofline.js';
import { placement } from './run/answer.js';
import { degrees } from './run/degrees.js';
import { formats } from './run/deployment.js';

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
  const bounded = bound === undefined ? '' : `, and ${bound} bounds the step`;
  return [
    answer(`A step of ${placement(step)} takes ${fixed(total, 3)} ms${most}${bounded}.`),
    paragraph(`${error(step)} ${origin(step)}`),
  ];
}

function error(step: Json): string {
  const [low, high] = [num(step, 'interval.low_ms'), num(step, 'interval.high_ms')];
  if (low === undefined || high === undefined) return 'The errors of this latency model are not known.';
  const coverage = percent(100 * (num(step, 'interval.coverage') ?? 0));
  return `${coverage} of measurements are expected between ${fixed(low, 3)} and ${fixed(high, 3)} ms.`;
}

function origin(step: Json): string {
  const [least, extent, fitted] = [text(step, 'class'), text(step, 'extent'), num(step, 'fitted_share')];
  const said = [
    least !== undefined &&
      `The least certain looked-up time is ${least}${extent === undefined ? '' : `, ${extent} of the measured ranges`}`,
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
  const [prefill, requests, kv] = [
    num(step, 'prefill_tokens') ?? 0,
    num(step, 'decode_requests') ?? 0,
    num(step, 'decode_kv_tokens') ?? 0,
  ];
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
  return has(step, 'memory') && !truth(step, 'memory.fits')
    ? ['No server could hold this batch beside the weights.']
    : [];
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
  const series = byClass(
    all,
    (part) => sourceOf(part.json),
    'stack',
    (part): Point => ({
      x: part.ms,
      y: all.indexOf(part),
      note: [sourceOf(part.json), text(part.json, 'binding') !== undefined && `bound by ${text(part.json, 'binding')}`]
        .filter(Boolean)
        .join(', '),
    }),
  );
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
  return grid(
    'Parts of the step',
    ['Part', 'ms', 'Share', 'Bound by', 'Origin'],
    [...rows, ['total', fixed(total, 3), '', text(step, 'binding') ?? '-', text(step, 'class') ?? '-']],
  );
}

/** Formats a share with a decimal, as the command does. */
function share(percents: number): string {
  return percents < 0.05 ? percent(percents) : `${fixed(percents, 1)} %`;
}
