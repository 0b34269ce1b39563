/** The Pareto front of a sweep: speed for each user against output of each GPU. */
import { chart, coloured, type ChartSpec, type Colour, type Point, type Series } from '../../chart/index.js';
import { plural } from '../../data/number.js';
import { absent } from '../dom.js';
import { described, grouped, type Key, type Sweep } from './rows.js';

export function paretoFront(sweep: Sweep, front: number[]): HTMLElement {
  const spec = paretoSpec(sweep, front);
  return spec
    ? chart(spec)
    : absent(
        'No row has tokens per second a user and a GPU.',
        'Run the sweep again with this version of ',
        'rooflut sweep',
      );
}

/** Returns the chart; `undefined` for rows without its figures. */
export function paretoSpec(sweep: Sweep, front: number[]): ChartSpec | undefined {
  const [perUser, perGpu] = [sweep.figure('tokens_per_s_per_user'), sweep.figure('output_tokens_per_s_per_gpu')];
  if (!perUser || !perGpu) return undefined;
  const points = (rows: number[], keys: Key[], tag?: Key): Point[] => rows.flatMap((row): Point[] => {
    const [x, y] = [perUser[row] ?? NaN, perGpu[row] ?? NaN];
    if (!Number.isFinite(x + y)) return [];
    return [{ x, y, label: described(keys, row), ...(tag?.numbers ? { tag: String(tag.numbers[row]) } : {}) }];
  });
  const overloaded = sweep.csv.texts('overloaded');
  const every = Array.from({ length: sweep.csv.rows }, (_, row) => row).filter((row) => overloaded[row] !== 'true');
  const best = new Set(front);
  const beaten = every.filter((row) => !best.has(row));
  const load = sweep.load();
  const tag = load.find(({ name }) => name === 'users' || name === 'rate');
  const lines = [...grouped(front, sweep.deployment())];
  const { own, others } = coloured(lines);
  const series: Series[] = [
    { name: 'other rows', mark: 'dots', colour: 'muted', points: points(beaten, sweep.keys) },
    ...own.map(([name, rows], at): Series => ({
      name: `${name === '' ? 'front' : name}${ends(load, rows)}`,
      mark: rows.length > 1 ? 'line' : 'dots',
      colour: at as Colour,
      points: points(rows, load, tag).sort((a, b) => a.x - b.x),
    })),
  ];
  const rest = points(others.flatMap(([, rows]) => rows), sweep.keys);
  if (rest.length > 0) series.push({ name: 'other deployments on the front', mark: 'dots', colour: 6, points: rest });
  return {
    title: front.length === 0
      ? 'Speed for each user against output of each GPU'
      : `${plural(front.length, 'row')} of ${plural(lines.length, 'deployment')} are on the Pareto front`,
    note: 'No other row is better than those of the front in one figure and as good in the other. '
      + `Rows of overloaded servers are left out.${tag ? ` Numbers beside points are values of ${tag.name}.` : ''}`,
    x: { label: 'Speed for a user (tokens/s)', scale: 'linear' },
    y: { label: 'Output of a GPU (tokens/s)', scale: 'linear' },
    series: series.filter((one) => one.points.length > 0),
    height: 420,
  };
}

/** Returns the range of the load along a line: `: rate 4 to 12`. */
function ends(load: Key[], rows: number[]): string {
  const ranges = load.flatMap(({ name, numbers }) => {
    const values = rows.map((row) => numbers?.[row] ?? NaN).sort((a, b) => a - b);
    const [least = NaN, most = NaN] = [values[0], values.at(-1)];
    return Number.isNaN(least) || least === most ? [] : [`${name} ${least} to ${most}`];
  });
  return ranges.length === 0 ? '' : `: ${ranges.join(', ')}`;
}
