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
  const overloaded = sweep.csv.texts('overloaded');
  const served = Array.from({ length: sweep.csv.rows }, (_, row) => row).filter((row) => overloaded[row] !== 'true');
  const load = sweep.load();
  const tag = load.find(({ name }) => name === 'users' || name === 'rate');
  const best = new Set(front);
  const points = (rows: number[], keys: Key[]): Point[] => rows
    .flatMap((row): Point[] => {
      const [x, y] = [perUser[row] ?? NaN, perGpu[row] ?? NaN];
      if (!Number.isFinite(x + y)) return [];
      const users = best.has(row) ? tag?.numbers?.[row] : undefined;
      return [{ x, y, label: described(keys, row), ...(users === undefined ? {} : { tag: String(users) }) }];
    })
    .sort((a, b) => a.x - b.x);
  const most = (rows: number[]): number => Math.max(...rows.map((row) => perGpu[row] ?? NaN).filter(Number.isFinite));
  // Those on the front have colours first, then those with the most output of a GPU.
  const lines = [...grouped(served, sweep.deployment())]
    .map(([name, rows]) => ({ name, rows, onFront: rows.some((row) => best.has(row)), most: most(rows) }))
    .sort((a, b) => Number(b.onFront) - Number(a.onFront) || b.most - a.most);
  const { own, others } = coloured(lines);
  const series = [
    ...own.map(({ name, rows }, at): Series => ({
      name: name === '' ? 'rows' : name,
      mark: rows.length > 1 ? 'line' : 'dots',
      colour: at as Colour,
      points: points(rows, load),
    })),
    {
      name: plural(others.length, 'other deployment'),
      mark: 'line',
      colour: 'muted',
      points: others.flatMap(({ rows }) => [...points(rows, sweep.keys), { x: NaN, y: NaN }]).slice(0, -1),
    } satisfies Series,
  ];
  return {
    title: front.length === 0 ? 'Speed for each user against output of each GPU' : finding(sweep, front),
    note: 'One line a deployment; overloaded servers are left out.'
      + (tag?.numbers ? ` Rows with a number, of ${tag.name}, are on the front: no other is better in one figure and as good in the other.` : ''),
    x: { label: 'Speed for a user (tokens/s)', scale: 'linear' },
    y: { label: 'Output of a GPU (tokens/s)', scale: 'linear' },
    series: series.filter((one) => one.points.length > 0),
    height: 420,
  };
}

/** Names what all rows on the front have in common, or the deployments that are on it. */
function finding(sweep: Sweep, front: number[]): string {
  const keys = sweep.deployment();
  const [first = 0] = front;
  const common = keys.filter(({ cells }) => front.every((row) => cells[row] === cells[first]));
  const deployments = plural(grouped(front, keys).size, 'deployment');
  const where = `${plural(front.length, 'row')} of ${deployments} ${front.length === 1 ? 'is' : 'are'} on the Pareto front`;
  return common.length === 0 ? where : `${where}, all with ${described(common, first)}`;
}
