/** Engine steps of a run over time, from `--steps-out`. */
import { chart, linked, type ChartSpec, type Point } from '../../chart/index.js';
import type { Csv } from '../../data/csv.js';
import { plural } from '../../data/number.js';
import { absent } from '../dom.js';

export function stepCharts(csv: Csv): HTMLElement[] {
  const [starts, durations] = [csv.numbers('start_ms'), csv.numbers('duration_ms')];
  if (!starts || !durations || csv.rows === 0)
    return [absent('The file of steps has no times.', 'Write it with ', '--steps-out')];
  const prefill = csv.numbers('prefill_chunks');
  const decoding = csv.numbers('decode_requests');
  const dots = (values: (row: number) => number, isWanted: (row: number) => boolean): Point[] => {
    const points: Point[] = [];
    for (let row = 0; row < csv.rows; row++) {
      const [x, y] = [(starts[row] ?? NaN) / 1e3, values(row)];
      if (isWanted(row) && Number.isFinite(x) && Number.isFinite(y)) points.push({ x, y });
    }
    return points;
  };
  const mixed = (row: number): boolean => (prefill?.[row] ?? 0) > 0;
  const x: ChartSpec['x'] = { label: 'Simulated time (s)', scale: 'linear' };
  const batch = (row: number): number => (prefill?.[row] ?? 0) + (decoding?.[row] ?? 0);
  const series = (values: (row: number) => number): ChartSpec['series'] => [
    { name: 'decode alone', mark: 'dots' as const, colour: 0 as const, points: dots(values, (row) => !mixed(row)) },
    { name: 'with prefill', mark: 'dots' as const, colour: 1 as const, points: dots(values, mixed) },
  ].filter(({ points }) => points.length > 0);
  let most = 1;
  for (let row = 0; row < csv.rows; row++) most = Math.max(most, batch(row) || 0);
  const figures = [
    chart({
      title: `Time of ${plural(csv.rows, 'step')} (ms)`,
      x,
      y: { label: 'Step time (ms)', scale: 'linear' },
      series: series((row) => durations[row] ?? NaN),
      height: 240,
    }),
    chart({
      title: 'Requests in each step',
      x,
      y: { label: 'Requests', scale: 'linear', domain: [0, most] },
      series: series(batch),
      height: 240,
    }),
  ];
  linked(figures);
  return figures;
}
