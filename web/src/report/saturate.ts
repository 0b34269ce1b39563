/** The section of the highest rate, or of the most users, that given servers serve. */
import { chart, type ChartSpec, type Limit, type Point, type Series } from '../chart/index.js';
import { has, list, num, text, texts, type Json } from '../data/json.js';
import { fixed, latency, percent, plural, threeDigits } from '../data/number.js';
import { absent, answer, command, facts, grid, group, notes, paragraph, type Child } from './dom.js';
import { givenMs, readLimit } from './limits.js';
import { limitedSetting, limitsApply, limitsOf, runs } from './plan.js';
import { placement } from './run/answer.js';

/** What the load of a curve is counted in. */
interface Load {
  /** Key of the points. */
  key: 'rate' | 'users';
  unit: string;
  label: string;
}

export function saturateSection(json: Json): Child[] {
  const unit = text(json, 'unit') ?? 'requests';
  const load: Load = { key: 'rate', unit: `${unit} per second`, label: `Load (${unit} per second)` };
  const words = text(json, 'command');
  const vllm = text(json, 'vllm_command');
  return [
    answer(rateSentence(json, load)),
    paragraph(seedsSentence(json)),
    notes(texts(json, 'notes')),
    facts('The question and its answer', [
      ['Limits', texts(json, 'limits').length === 0 ? undefined : limitsOf(json)],
      ['Highest rate', served(json, 'within_limits', load)],
      ['Saturation', served(json, 'saturation', load)],
      ['Knee', `${rate(json, 'knee', load)}, where throughput over mean end-to-end latency is highest`],
      ['Limited by', limited(json, load)],
      ['Division', division(json, load)],
      ['Speed of the trace', speed(json)],
      ['Runs', runs(json)],
      ['Search', search(json)],
    ]),
    words !== undefined && command(words, 'Command that simulates the highest rate'),
    vllm !== undefined && command(vllm, 'Command that starts one of the servers'),
    curves(json, load, marks(json, load)),
  ];
}

export function saturateUsersSection(json: Json): Child[] {
  const load: Load = { key: 'users', unit: 'users', label: 'Users' };
  const users = num(json, 'users');
  const words = text(json, 'command');
  const asFar = users === num(json, 'max_users') ? ', which is as far as the search went' : '';
  const most =
    users === undefined
      ? `${placement(json)}: a single user already misses the limits.`
      : `${placement(json)} serves ${plural(users, 'user')} within the limits${asFar}.`;
  return [
    answer(most),
    paragraph(seedsSentence(json)),
    notes(texts(json, 'notes')),
    facts('The question and its answer', [
      ['Limits', limitsOf(json)],
      ['Most users', users === undefined ? 'none' : fixed(users, 0)],
      ['Searched up to', plural(num(json, 'max_users') ?? NaN, 'user')],
      ['Runs', runs(json)],
      ['Search', plural(num(json, 'simulations') ?? 0, 'simulation')],
    ]),
    words !== undefined && command(words, 'Command that simulates the most users'),
    curves(json, load, users === undefined ? [] : [{ axis: 'x', value: users, label: 'most users' }]),
  ];
}

function rate(json: Json, point: string, load: Load): string {
  const value = num(json, `${point}.rate`);
  return value === undefined ? 'unknown' : `${threeDigits(value)} ${load.unit}`;
}

function rateSentence(json: Json, load: Load): string {
  if (has(json, 'within_limits')) {
    const full = num(json, 'saturation.rate');
    const beyond =
      full === undefined ? '' : `; whatever the latencies, it keeps up with ${rate(json, 'saturation', load)}`;
    return `${placement(json)} serves ${rate(json, 'within_limits', load)} within the limits${beyond}.`;
  }
  if (has(json, 'lowest'))
    return `${placement(json)}: no rate meets the limits, not even ${rate(json, 'lowest', load)}.`;
  return `${placement(json)} keeps up with ${rate(json, 'saturation', load)}.`;
}

function seedsSentence(json: Json): string {
  const share = num(json, 'confidence');
  const seeds = num(json, 'seeds') ?? 1;
  const bands = seeds > 1 ? `Bands go from the lowest to the highest of ${seeds} seeds. ` : '';
  if (texts(json, 'limits').length === 0) return `${bands}The error of the model is not part of it.`;
  return bands + limitsApply(share);
}

function served(json: Json, path: string, load: Load): string | undefined {
  if (!has(json, path)) return undefined;
  const [prefill, decode] = [num(json, `${path}.prefill_busy_share`), num(json, `${path}.decode_busy_share`)];
  const busy = prefill === undefined || decode === undefined
    ? `busy ${percent(100 * (num(json, `${path}.busy_share`) ?? 0))} of the time`
    : `prefill servers busy ${percent(100 * prefill)} of the time, decode servers ${percent(100 * decode)}`;
  const tokens = fixed(Math.round(num(json, `${path}.output_tokens_per_s`) ?? NaN), 0);
  return `${rate(json, path, load)}, ${tokens} output tokens per second, ${busy}`;
}

function limited(json: Json, load: Load): string | undefined {
  const raised = num(json, 'limited_by.rate');
  return limitedSetting(json, raised === undefined ? undefined : `${threeDigits(raised)} ${load.unit}`);
}

function division(json: Json, load: Load): string | undefined {
  if (!has(json, 'division')) return undefined;
  const ratio = num(json, 'division.ratio');
  const balance =
    ratio === undefined ? '' : `${fixed(ratio, 2)} prefill servers per decode server balance step times; `;
  const best = num(json, 'division.best.rate');
  const servers = plural(num(json, 'division.servers') ?? NaN, 'server');
  if (best === undefined) return `${balance}no division of ${servers} meets the limits`;
  const [prefill, decode] = [num(json, 'division.best.prefill_replicas'), num(json, 'division.best.decode_replicas')];
  return `${balance}best of ${servers}: ${prefill} prefill + ${decode} decode, ${threeDigits(best)} ${load.unit}`;
}

function speed(json: Json): string | undefined {
  const own = num(json, 'trace_rate');
  if (own === undefined) return undefined;
  const times = (path: string, at: string): string[] => {
    const rate = num(json, `${path}.rate`);
    return rate === undefined ? [] : [`${threeDigits(rate / own)} times ${at}`];
  };
  const speeds = [...times('within_limits', 'within the limits'), ...times('saturation', 'at saturation')];
  return `${speeds.join(', ')}, over that of the trace (${threeDigits(own)} requests per second)`;
}

function search(json: Json): string {
  const tolerance = num(json, 'tolerance');
  return (
    plural(num(json, 'simulations') ?? 0, 'simulation') +
    (tolerance === undefined ? '' : `, rates ${percent(100 * tolerance)} apart`)
  );
}

/** Returns the rates that have a name, those that are equal together. */
function marks(json: Json, load: Load): Limit[] {
  const named = new Map<number, string[]>();
  for (const [path, label] of [['knee', 'knee'], ['within_limits', 'highest'], ['saturation', 'saturation']] as const) {
    const value = num(json, `${path}.${load.key}`);
    if (value !== undefined) named.set(value, [...(named.get(value) ?? []), label]);
  }
  return [...named].map(([value, labels]) => ({ axis: 'x', value, label: labels.join(' and ') }));
}

function curves(json: Json, load: Load, named: Limit[]): HTMLElement | undefined {
  const points = list(json, 'curve').filter((point) => num(point, load.key) !== undefined);
  if (points.length === 0)
    return group('Curve', absent('The curve is not in this report.', 'Make it again with ', 'rooflut saturate --json'));
  const x: ChartSpec['x'] = { label: load.label, scale: 'linear' };
  const limits = texts(json, 'limits')
    .map(readLimit)
    .filter((limit) => limit !== undefined);
  const latencyChart = (key: string, name: string): HTMLElement =>
    chart({
      title: finding(json, key, name),
      x,
      y: { label: `${name} (ms)`, scale: 'log' },
      series: ['p50', 'p99'].map((figure): Series => ({
        name: figure,
        mark: 'line',
        points: points.map((point) => spread(point, load.key, `${key}.${figure}`)),
      })),
      limits: [
        ...named,
        ...limits
          .filter((limit) => limit.name === name)
          .map((limit): Limit => ({
            axis: 'y',
            value: limit.ms,
            label: `limit of ${limit.figure} ${givenMs(limit.ms)}`,
          })),
      ],
      height: 280,
    });
  return group(
    'Against load',
    latencyChart('ttft_ms', 'TTFT'),
    latencyChart('tpot_ms', 'TPOT'),
    limits.some(({ name }) => name === 'E2E') && latencyChart('e2e_ms', 'E2E'),
    throughput(points, load, x, named),
    table(json, points, load),
  );
}

/** Returns what a latency is at the highest rate within the limits, which the curve shows. */
function finding(json: Json, key: string, name: string): string {
  const ms = num(json, `within_limits.${key}.p99.mean`);
  return ms === undefined
    ? `${name} (ms) against load`
    : `${name} (ms) against load: p99 is ${latency(ms)} at the highest rate within the limits`;
}

function spread(point: Json, load: string, path: string): Point {
  const [mean, low, high] = [num(point, `${path}.mean`), num(point, `${path}.lowest`), num(point, `${path}.highest`)];
  const ends = low === undefined || high === undefined ? {} : { low, high };
  return { x: num(point, load) ?? NaN, y: mean ?? NaN, ...ends };
}

function throughput(points: Json[], load: Load, x: ChartSpec['x'], named: Limit[]): HTMLElement {
  return chart({
    title: 'Output tokens per second against load',
    x,
    y: { label: 'output tokens/s', scale: 'linear', digits: 4 },
    series: [{
      name: 'output tokens/s',
      mark: 'line',
      points: points.map((point) => ({ x: num(point, load.key) ?? NaN, y: num(point, 'output_tokens_per_s') ?? NaN })),
    }],
    limits: named,
    height: 280,
  });
}

function table(json: Json, points: Json[], load: Load): HTMLElement {
  // Of users, the rate is an outcome.
  const served =
    load.key === 'users'
      ? { name: 'Requests/s', key: 'requests_per_s' }
      : texts(json, 'limits').length > 0
        ? { name: 'Goodput', key: 'goodput_per_s' }
        : undefined;
  const columns = [
    load.key === 'users' ? 'Users' : 'Rate',
    ...['TTFT', 'TPOT', 'E2E'].flatMap((name) => [`${name} p50`, `${name} p99`]),
    ...(served ? [served.name] : []), 'Output tokens/s', 'Busy', 'Remarks',
  ];
  const cell = (point: Json, path: string): string => {
    const ms = num(point, `${path}.mean`);
    return ms === undefined ? '-' : ms >= 10_000 ? latency(ms) : threeDigits(ms);
  };
  const rows = points.map((point) => {
    const rate = served && num(point, served.key);
    const value = num(point, load.key) ?? NaN;
    const marked = namesOf(json, load, value);
    if ((num(point, 'overloaded') ?? 0) > 0) marked.push('overload');
    return [
      load.key === 'users' ? fixed(value, 0) : threeDigits(value),
      ...['ttft_ms', 'tpot_ms', 'e2e_ms'].flatMap((key) => [cell(point, `${key}.p50`), cell(point, `${key}.p99`)]),
      ...(served ? [rate === undefined ? '-' : threeDigits(rate)] : []),
      fixed(Math.round(num(point, 'output_tokens_per_s') ?? NaN), 0),
      percent(100 * (num(point, 'busy_share') ?? 0)),
      marked.join(' '),
    ];
  });
  return grid('Means over the seeds; latencies in ms', columns, rows);
}

function namesOf(json: Json, load: Load, value: number): string[] {
  if (load.key === 'users') return num(json, 'users') === value ? ['most'] : [];
  const named = [['within_limits', 'highest'], ['saturation', 'saturation'], ['knee', 'knee']] as const;
  return named.filter(([path]) => num(json, `${path}.rate`) === value).map(([, name]) => name);
}
