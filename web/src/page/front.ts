/** The front of a sweep: the rows that no other beats. */
import type { Csv } from '../data/csv.js';

/**
 * Returns the rows of which no other has as many tokens per second for each user and for each GPU, and more of one of
 * them, as `rooflut sweep --pareto`. Rows of overloaded servers are left out.
 */
export function front(csv: Csv): number[] {
  const [perUser, perGpu] = [csv.numbers('tokens_per_s_per_user'), csv.numbers('output_tokens_per_s_per_gpu')];
  if (!perUser || !perGpu) return [];
  const overloaded = csv.texts('overloaded');
  const at = (row: number): [number, number] => [perUser[row] ?? NaN, perGpu[row] ?? NaN];
  const rows = Array.from({ length: csv.rows }, (_, row) => row)
    .filter((row) => overloaded[row] === 'false' && Number.isFinite(at(row)[0] + at(row)[1]))
    .sort((a, b) => at(b)[0] - at(a)[0] || at(b)[1] - at(a)[1]);
  const kept: number[] = [];
  for (const row of rows) {
    const [user, gpu] = at(row);
    const last = kept.at(-1);
    const [lastUser, lastGpu] = last === undefined ? [NaN, -Infinity] : at(last);
    if (gpu > lastGpu || (user === lastUser && gpu === lastGpu)) kept.push(row);
  }
  return kept.reverse();
}
