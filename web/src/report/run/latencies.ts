/** Latencies of a run: the table of the command, and the share of requests below each latency. */
import { chart, type Limit, type Point, type Series } from '../../chart/index.js';
import { get, has, list, num, type Json } from '../../data/json.js';
import { fixed, latency, percent, threeDigits } from '../../data/number.js';
import { absent, grid, group, type Child } from '../dom.js';
import { givenMs, goodputLimits } from '../limits.js';

const FIGURES = ['mean', 'p50', 'p90', 'p95', 'p99', 'p99_9'] as const;
const LATENCIES = [
  ['ttft_ms', 'TTFT', 'to first token'],
  ['tpot_ms', 'TPOT', 'per output token'],
  ['itl_ms', 'ITL', 'next token'],
  ['e2e_ms', 'E2E', 'to last token'],
  ['queue_ms', 'queue', 'to scheduling'],
] as const;

export function latencies(run: Json): HTMLElement | undefined {
  return group('Latencies', table(run), distribution(run), byPriority(run), intervals(run), seeds(run));
}

/** Formats a latency for a column of milliseconds, as the command does. */
function cell(ms: number | undefined): string {
  if (ms === undefined) return '-';
  return ms >= 10_000 ? latency(ms) : threeDigits(ms);
}

/** Returns the figures that at least one row has. The 99.9th percentile needs 5,000 requests. */
function shown(rows: Json[]): string[] {
  return FIGURES.filter((figure) => figure !== 'p99_9' || rows.some((row) => num(row, 'p99_9') !== undefined));
}

function latencyGrid(caption: string, first: string, rows: [string, Json][]): HTMLElement {
  const figures = shown(rows.map(([, json]) => json));
  const columns = [first, ...figures.map((figure) => `${figure.replace('_', '.')} ms`)];
  return grid(
    caption,
    columns,
    rows.map(([name, json]) => [name, ...figures.map((figure) => cell(num(json, figure)))]),
  );
}

function table(run: Json): HTMLElement {
  const about = (key: string, told: string): string => key === 'itl_ms' && has(run, 'speculation') ? 'next step' : told;
  const rows = LATENCIES.map(([key, name, told]): [string, Json] => [`${name} ${about(key, told)}`, get(run, key)]);
  const isPartial = rows.some(([, json]) => num(json, 'mean') !== undefined && num(json, 'p99') === undefined);
  const few = isPartial ? '; - where fewer than five requests lie beyond a percentile' : '';
  return latencyGrid(`Latencies of the served requests${few}`, 'Latency', rows);
}

/** Latencies over the share of requests below them; the axis stretches the tail as a percentile of percentiles does. */
function distribution(run: Json): Child {
  if (!has(run, 'quantiles')) {
    return absent('The distribution of the latencies is not in this report.', 'Run again with ', '--quantiles');
  }
  const levels = list(run, 'quantiles.levels').map(Number);
  const series = LATENCIES.flatMap(([key, name], at): Series[] => {
    const values = list(run, `quantiles.${key}`);
    const points = levels.flatMap((level, index): Point[] => {
      const ms = values[index];
      // The axis of the shares is logarithmic, and the maximum lies at infinity.
      return typeof ms === 'number' && level < 1 ? [{ x: 1 / (1 - level), y: ms }] : [];
    });
    return points.length > 0 ? [{ name, mark: 'line', points, colour: COLOURS[at] ?? 0 }] : [];
  });
  if (series.length === 0) return absent('The report has no quantiles of latencies.', 'Run again with ', '--quantiles');
  const values = series.flatMap(({ points }) => points.map(({ y }) => y));
  const [smallest, largest] = [Math.min(...values), Math.max(...values)];
  const least = largest / SPAN;
  const isCut = smallest < least;
  const longest = LATENCIES.flatMap(([key, name]) => {
    const ms = list(run, `quantiles.${key}`).at(-1);
    return typeof ms === 'number' && ms > 0 ? [`${name} ${latency(ms)}`] : [];
  });
  return chart({
    title: finding(run),
    note:
      'Latency that a share of the requests stays below; of ITL, a share of the gaps between tokens. ' +
      'The axes stretch short times and slow requests. ' +
      (isCut ? `Times below ${latency(least)} are drawn at the lower edge. ` : '') +
      `The longest: ${longest.join(', ')}.`,
    x: { label: 'Share of the requests', scale: 'log', domain: [1, 1000], format: (odds) => share(odds) },
    y: { label: 'Latency (ms)', scale: 'log', ...(isCut ? { least } : {}) },
    series,
    limits: goodputLimits(run).map(({ name, ms }): Limit => ({
      axis: 'y',
      value: ms,
      label: `${name} limit ${givenMs(ms)}`,
    })),
  });
}

function finding(run: Json): string {
  const [ttft, tpot] = [num(run, 'ttft_ms.p99'), num(run, 'tpot_ms.p99')];
  if (ttft === undefined || tpot === undefined) return 'Latency by share of the requests (ms)';
  const first = `99 % of the requests get their first token within ${latency(ttft)}`;
  return `${first}, and 99 % have a TPOT of at most ${latency(tpot)}`;
}

const COLOURS = [0, 1, 2, 3, 4] as const;

/** The largest over the smallest latency of the axis: queue times near 0 would take most of it. */
const SPAN = 1000;

/** Returns the share below a level as text, from one over the share beyond it. */
function share(odds: number): string {
  const beyond = 100 / odds;
  const decimals = beyond >= 1 ? 0 : Math.ceil(-Math.log10(beyond) - 1e-9);
  return `${fixed(100 - beyond, decimals)} %`;
}

function byPriority(run: Json): Child {
  const classes = list(run, 'by_priority');
  if (classes.length === 0) return undefined;
  const rows = classes.flatMap((json) => {
    const name = `${num(json, 'priority') ?? '-'} (${fixed(num(json, 'completed') ?? 0, 0)})`;
    return LATENCIES.filter(([key]) => key !== 'itl_ms').map(([key, latency]): [string, Json] => [
      `${name} ${latency}`,
      get(json, key),
    ]);
  });
  return latencyGrid('Latencies by priority (requests), the most urgent first', 'Priority', rows);
}

/** Returns a table of ranges: a row a latency, and a cell `low to high` a figure. */
function ranges(caption: string, json: Json, [low, high]: [string, string]): HTMLElement {
  const known = LATENCIES.filter(([key]) => has(json, key));
  const figures = shown(known.map(([key]) => get(json, key))).filter((figure) =>
    known.some(([key]) => has(json, `${key}.${figure}`)),
  );
  const rows = known.map(([key, name]) => [
    name,
    ...figures.map((figure) => {
      const ends = [num(json, `${key}.${figure}.${low}`), num(json, `${key}.${figure}.${high}`)] as const;
      return ends[0] === undefined || ends[1] === undefined ? '-' : `${cell(ends[0])} to ${cell(ends[1])}`;
    }),
  ]);
  return grid(caption, ['Latency', ...figures.map((figure) => `${figure.replace('_', '.')} ms`)], rows);
}

function intervals(run: Json): Child {
  if (!has(run, 'interval')) return undefined;
  const coverage = percent(100 * (num(run, 'interval.coverage') ?? 0));
  return ranges(`Ranges that are meant to contain ${coverage} of measured servers`, get(run, 'interval'), [
    'low',
    'high',
  ]);
}

function seeds(run: Json): Child {
  if (!has(run, 'seeds')) return undefined;
  const [count, first, coverage] = [
    num(run, 'seeds.count') ?? 0,
    num(run, 'seeds.first') ?? 0,
    num(run, 'seeds.coverage') ?? 0,
  ];
  const caption =
    `Lowest and highest over ${fixed(count, 0)} seeds, ${first} to ${first + count - 1}; ` +
    `another seed lies between them with a probability of ${percent(100 * coverage)}`;
  return ranges(caption, get(run, 'seeds'), ['lowest', 'highest']);
}

