/** Rows of the front, with the columns of `rooflut sweep` that the page shows. */
import { get, type Json } from '../data/json.js';
import { csvLine } from '../data/save.js';
import type { Deployment } from './questions.js';

/** Columns of keys. */
const KEYS = ['gpu', 'tp', 'pp', 'dp', 'users'] as const;

/** Columns of figures, with the paths of their values in the report of a run. */
const FIGURES: [column: string, path: string][] = [
  ['gpus', 'gpus'],
  ['model', 'model'],
  ['requests', 'requests'],
  ['overloaded', 'overloaded'],
  ['requests_per_s', 'throughput.requests_per_s'],
  ['output_tokens_per_s', 'throughput.output_tokens_per_s'],
  ['tokens_per_s_per_user', 'tokens_per_s_per_user'],
  ['output_tokens_per_s_per_gpu', 'output_tokens_per_s_per_gpu'],
  ...['ttft', 'tpot', 'e2e'].flatMap((of) =>
    ['mean', 'p50', 'p99'].map((figure): [string, string] => [`${of}_${figure}_ms`, `${of}_ms.${figure}`]),
  ),
  ['usd_per_million_output_tokens', 'cost.usd_per.million_output_tokens'],
  ['class', 'class'],
  ...['measured', 'interpolated', 'smoothed', 'transferred', 'bound', 'fitted'].map((of): [string, string] => [
    `time_share_${of}`,
    `time_share_by_source.${of}`,
  ]),
];

/** Returns the line of a run, without its index. */
export function rowOf(deployment: Deployment, users: number, report: Json): string {
  const keys = KEYS.map((key) => ({ ...deployment, users })[key]);
  const figures = FIGURES.map(([, path]) => String(get(report, path) ?? ''));
  return csvLine(['page', String(get(report, 'schema_version') ?? ''), ...keys, ...figures, '']);
}

/** Returns the lines as a sweep. */
export function sweep(rows: string[]): string {
  const header = csvLine(['index', 'grid', 'schema_version', ...KEYS, ...FIGURES.map(([column]) => column), 'error']);
  return header + rows.map((row, index) => `${index},${row}`).join('');
}
