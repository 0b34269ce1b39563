/** Pictures of the documentation: charts of the report, drawn without a browser. */
import { toSvg } from './chart/svg.js';
import { Csv } from './data/csv.js';
import { paretoSpec } from './report/sweep/pareto.js';
import { Sweep } from './report/sweep/rows.js';

/** Returns the Pareto front of the rows of a sweep. */
export function pareto(rows: Uint8Array, front: number[], width: number): string {
  const spec = paretoSpec(new Sweep(new Csv(rows)), front);
  if (!spec) throw new Error('the rows have no tokens per second a user and a GPU');
  return toSvg(spec, width);
}
