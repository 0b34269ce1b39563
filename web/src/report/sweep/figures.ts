/** Figures of a sweep over one of its keys. */
import { COLOURS, chart, coloured, type ChartSpec, type Point, type Series } from '../../chart/index.js';
import { fixed, plural } from '../../data/number.js';
import { absent, h } from '../dom.js';
import { described, grouped, type Key, type Sweep } from './rows.js';

/** Figures that can be drawn, the first with values first. */
const FIGURES: [column: string, name: string, label: string][] = [
  ['ttft_p99_ms', 'TTFT p99', 'TTFT p99 (ms)'],
  ['ttft_mean_ms', 'TTFT mean', 'TTFT mean (ms)'],
  ['tpot_mean_ms', 'TPOT mean', 'TPOT mean (ms)'],
  ['tpot_p99_ms', 'TPOT p99', 'TPOT p99 (ms)'],
  ['e2e_mean_ms', 'E2E mean', 'E2E mean (ms)'],
  ['e2e_p99_ms', 'E2E p99', 'E2E p99 (ms)'],
  ['requests_per_s', 'Throughput', 'Requests served per second'],
  ['goodput_requests_per_s', 'Goodput', 'Requests within the limits per second'],
  ['output_tokens_per_s', 'Output tokens per second', 'Output tokens/s'],
  ['output_tokens_per_s_per_gpu', 'Output tokens per second and GPU', 'Output tokens/s a GPU'],
  ['tokens_per_s_per_user', 'Tokens per second and user', 'Tokens/s a user'],
  ['usd_per_million_output_tokens', 'USD per 1M output tokens', 'USD per million output tokens'],
  ['wh_per_million_output_tokens', 'Wh per 1M output tokens', 'Wh per million output tokens'],
  ['busy_share', 'Busy share', 'Share of the time that servers are busy'],
  ['running_mean', 'Requests at once', 'Requests at once, on average'],
];

export function sweepFigures(sweep: Sweep): HTMLElement[] {
  // The load first: figures over it are curves.
  const axes = [...sweep.load(), ...sweep.deployment()].filter(
    (key) => key.numbers !== undefined && key.values.length > 1,
  );
  const figures = FIGURES.filter(([column]) => sweep.hasFigure(column));
  if (axes.length === 0 || figures.length === 0) {
    return [
      absent('The sweep varies no number, or has no figures.', 'Give a range, as in ', 'rooflut sweep --rate 4..40:4'),
    ];
  }
  const holder = h('div', { class: 'chosen' });
  const figure = select(
    'Figure',
    figures.map(([column, name]) => [column, name]),
  );
  const axis = select(
    'Over',
    axes.map((key) => [key.name, key.name]),
  );
  const filters = sweep.keys.map((key) => ({
    key,
    select: select(key.name, [['', 'all'], ...key.values.map((value): [string, string] => [value, value])]),
  }));
  narrow(sweep, axes[0], filters);
  const draw = (): void => {
    const x = axes.find((key) => key.name === axis.input.value) ?? axes[0];
    const y = figures.find(([column]) => column === figure.input.value) ?? figures[0];
    for (const filter of filters) filter.select.label.hidden = filter.key === x;
    const rows = wanted(sweep, filters.filter((filter) => filter.key !== x));
    if (x && y) holder.replaceChildren(drawn(sweep, x, y, rows));
  };
  const all = [figure, axis, ...filters.map((filter) => filter.select)];
  for (const { input } of all) input.addEventListener('change', draw);
  draw();
  return [h('div', { class: 'controls' }, ...all.map(({ label }) => label)), holder];
}

interface Select {
  label: HTMLLabelElement;
  input: HTMLSelectElement;
}

interface Filter {
  key: Key;
  select: Select;
}

/** Returns a labelled choice. */
export function select(name: string, options: [value: string, text: string][]): Select {
  const input = h('select', {}, ...options.map(([value, text]) => h('option', { value }, text)));
  return { input, label: h('label', {}, `${name} `, input) };
}

/** Returns the rows with the chosen values. */
function wanted(sweep: Sweep, filters: Filter[]): number[] {
  const chosen = filters.filter(({ select }) => select.input.value !== '');
  const rows: number[] = [];
  for (let row = 0; row < sweep.csv.rows; row++) {
    if (chosen.every(({ key, select }) => key.cells[row] === select.input.value)) rows.push(row);
  }
  return rows;
}

/** Chooses values of the last keys until few enough lines are left. */
function narrow(sweep: Sweep, x: Key | undefined, filters: Filter[]): void {
  const others = filters.filter((filter) => filter.key !== x).reverse();
  for (const { key, select } of others) {
    const lines = grouped(wanted(sweep, filters), others.map((filter) => filter.key)).size;
    if (lines <= COLOURS) return;
    select.input.value = key.values[0] ?? '';
  }
}

function drawn(sweep: Sweep, x: Key, [column, name, label]: [string, string, string], rows: number[]): HTMLElement {
  const y = sweep.figure(column);
  const others = sweep.keys.filter((key) => key !== x);
  const varied = others.filter((key) => new Set(rows.map((row) => key.cells[row])).size > 1);
  const lines = [...grouped(rows, varied)];
  const ends = band(sweep, column);
  const points = (rows: number[], label?: string): Point[] => rows.flatMap((row): Point[] => {
    const [at, value] = [x.numbers?.[row], y?.[row]];
    if (at === undefined || value === undefined || !Number.isFinite(value)) return [];
    return [{ x: at, y: value, ...endsOf(ends, row), ...(label === undefined ? {} : { label }) }];
  }).sort((a, b) => a.x - b.x);
  const known = lines.filter(([, rows]) => points(rows).length > 0);
  if (known.length === 0) return absent('No row has this figure.', 'Choose other values.');
  const divided = coloured(known);
  const series = divided.own.map(([line, rows]): Series => ({
    name: line === '' ? name : line, mark: 'line', points: points(rows),
  }));
  const rest = divided.others.flatMap(([line, rows]) => points(rows, line));
  if (rest.length > 0) series.push({ name: 'others', mark: 'dots', colour: 'muted', points: rest });
  const dotted = divided.others.length === 0 ? ''
    : `; ${fixed(divided.others.length, 0)} of them are grey dots: choose values above to see their lines`;
  const shown = `${plural(known.length, 'line')}${dotted}`;
  const same = others.filter((key) => !varied.includes(key) && key.values.length > 1);
  const about = same.length === 0 ? '' : `, all with ${described(same, rows[0] ?? 0)}`;
  const bands = ends ? ' Bands are intervals or ranges over seeds.' : '';
  const without = rows.filter((row) => Number.isNaN(y?.[row] ?? NaN)).length;
  const lacking = without === 0 ? '' : ` ${plural(without, 'row')} without this figure: percentiles need many requests.`;
  const spec: ChartSpec = {
    title: `${name} over ${x.name}`,
    note: `${shown}${about}.${bands}${lacking}`,
    x: { label: x.name, scale: isGeometric(x) ? 'log' : 'linear' },
    y: { label, scale: isWide(series) ? 'log' : 'linear' },
    series,
  };
  return chart(spec);
}

/** Columns of the ends of a figure. */
interface Band {
  low: Float64Array;
  high: Float64Array;
}

/** Returns the interval of a figure, else its range over seeds; `undefined` where the sweep has neither. */
function band(sweep: Sweep, column: string): Band | undefined {
  const [, figure, unit] = /^(.*)_(ms|per_s)$/.exec(column) ?? [];
  if (figure === undefined) return undefined;
  for (const ends of [['low', 'high'], ['lowest', 'highest']]) {
    const [low, high] = ends.map((end) => sweep.figure(`${figure}_${end}_${unit}`));
    if (low && high) return { low, high };
  }
  return undefined;
}

/** Returns the ends of a figure in a row, where both are known. */
function endsOf(band: Band | undefined, row: number): Pick<Point, 'low' | 'high'> {
  const [low = NaN, high = NaN] = [band?.low[row], band?.high[row]];
  return Number.isNaN(low + high) ? {} : { low, high };
}

/** Whether the values of a key are spread as powers are. */
function isGeometric(key: Key): boolean {
  const sorted = [...new Set(key.values.map(Number))].sort((a, b) => a - b);
  const [first = 0, second = 0] = sorted;
  const [before = 0, last = 0] = sorted.slice(-2);
  return sorted.length > 3 && first > 0 && last / first >= 16 && (last - before) / (second - first) >= 4;
}

/** Whether values go over two orders of magnitude. */
function isWide(series: Series[]): boolean {
  let [least, most] = [Infinity, 0];
  for (const { points } of series) for (const { y } of points) [least, most] = [Math.min(least, y), Math.max(most, y)];
  return least > 0 && most / least > 100;
}
