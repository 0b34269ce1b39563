/** The section of a sweep. */
import type { Csv } from '../../data/csv.js';
import { fixed, percent, plural, threeDigits } from '../../data/number.js';
import { table, type Column } from '../../data/table.js';
import { absent, answer, folded, group, paragraph, type Child } from '../dom.js';
import { sweepFigures } from './figures.js';
import { paretoFront } from './pareto.js';
import { Sweep, described } from './rows.js';

export function sweepSection(csv: Csv, pareto: number[]): Child[] {
  if (csv.rows === 0) return [absent('The sweep has no rows.', 'Write it with ', 'rooflut sweep --out sweep.csv')];
  const sweep = new Sweep(csv);
  const front = sweep.rowsOf(pareto);
  return [
    answer(sentence(sweep, front)),
    paragraph(origin(sweep)),
    group('Speed against throughput', paretoFront(sweep, front)),
    group('Figures', ...sweepFigures(sweep)),
    group('Rows', failed(sweep), folded(`All ${plural(csv.rows, 'row')}`, () => rowTable(sweep))),
  ];
}

function sentence(sweep: Sweep, front: number[]): string {
  const { csv } = sweep;
  const model = csv.cell(csv.find('model', (name) => name !== ''), 'model');
  const isGrid = sweep.keys.reduce((product, key) => product * key.values.length, 1) === csv.rows;
  const names = sweep.keys.map((key) => key.name);
  const axes = isGrid
    ? ` (${sweep.keys.map((key) => `${fixed(key.values.length, 0)} ${key.name}`).join(' × ')})`
    : `, which differ in ${listed(names)}`;
  const overloaded = csv.texts('overloaded').filter((cell) => cell === 'true').length;
  const out = [
    overloaded > 0 && `${fixed(overloaded, 0)} overloaded`,
    sweep.failed.length > 0 && `${fixed(sweep.failed.length, 0)} without an answer`,
  ].filter(Boolean).join(', ');
  const [perUser, perGpu] = [csv.numbers('tokens_per_s_per_user'), csv.numbers('output_tokens_per_s_per_gpu')];
  const rates = front
    .map((row) => [perUser?.[row] ?? NaN, perGpu?.[row] ?? NaN] as const)
    .filter(([user, gpu]) => Number.isFinite(user + gpu))
    .sort(([a], [b]) => a - b);
  const [slow, fast] = [rates[0], rates.at(-1)];
  const trade =
    slow === undefined || fast === undefined
      ? ''
      : ` The Pareto front goes from ${threeDigits(slow[1])} output tokens/s a GPU at ${threeDigits(slow[0])} ` +
        `tokens/s a user to ${threeDigits(fast[1])} at ${threeDigits(fast[0])}.`;
  const counted = `${plural(csv.rows, 'row')}${model === '' ? '' : ` of ${model}`}`;
  return `${counted}${names.length === 0 ? '' : axes}${out === '' ? '' : `, ${out}`}.${trade}`;
}

/** Returns words as a list: `tp, pp and users`. */
function listed(words: string[]): string {
  return [words.slice(0, -1).join(', '), words.at(-1)].filter(Boolean).join(' and ');
}

/** Returns the mean shares of the time by origin. */
function origin(sweep: Sweep): string {
  const sources = ['measured', 'interpolated', 'smoothed', 'transferred', 'bound', 'fitted'];
  const shares = sources.flatMap((source) => {
    const values = [...(sweep.figure(`time_share_${source}`) ?? [])].filter(Number.isFinite);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return mean > 0 ? [`${percent(100 * mean).replace(' ', '\u00a0')} ${source}`] : [];
  });
  const bands = sweep.csv.names.some((name) => /_(low|lowest)_/.test(name));
  const error = bands ? '' : ' The rows have no error bars; rooflut sweep gives them with --interval 0.8 or --seeds 5.';
  return shares.length === 0
    ? error.trim()
    : `Origin of the step time, a mean over the rows: ${shares.join(', ')}.${error}`;
}

function failed(sweep: Sweep): HTMLElement | undefined {
  if (sweep.failed.length === 0) return undefined;
  const at = (row: number): number => sweep.failed[row] ?? 0;
  const columns: Column[] = [
    { name: 'row', isNumber: true, value: at, text: (row) => fixed(at(row), 0) },
    {
      name: 'keys',
      isNumber: false,
      value: (row) => described(sweep.keys, at(row)),
      text: (row) => described(sweep.keys, at(row)),
    },
    {
      name: 'reason',
      isNumber: false,
      value: (row) => sweep.csv.cell(at(row), 'error'),
      text: (row) => sweep.csv.cell(at(row), 'error'),
    },
  ];
  return folded(`${plural(sweep.failed.length, 'row')} without an answer, and why`, () =>
    table('Rows without an answer', columns, sweep.failed.length),
  );
}

/** Columns of the table of rows, beside those of the keys. */
const SHOWN = [
  'gpus',
  'ttft_mean_ms',
  'ttft_p99_ms',
  'tpot_mean_ms',
  'tpot_p99_ms',
  'e2e_p99_ms',
  'requests_per_s',
  'output_tokens_per_s',
  'tokens_per_s_per_user',
  'output_tokens_per_s_per_gpu',
  'usd_per_million_output_tokens',
  'overloaded',
  'class',
  'error',
];

function rowTable(sweep: Sweep): HTMLElement {
  const { csv } = sweep;
  const names = [
    'index',
    ...sweep.keys.map((key) => key.name),
    ...SHOWN.filter((name) => csv.has(name) && !sweep.keys.some((key) => key.name === name)),
  ];
  const columns = names
    .filter((name) => csv.has(name))
    .map((name): Column => {
      const values = sweep.figure(name);
      if (!values)
        return { name, isNumber: false, value: (row) => csv.cell(row, name), text: (row) => csv.cell(row, name) };
      const isKey = sweep.keys.some((key) => key.name === name) || name === 'index';
      const text = (row: number): string => {
        const value = values[row] ?? NaN;
        return Number.isNaN(value) ? csv.cell(row, name) : isKey ? csv.cell(row, name) : threeDigits(value);
      };
      return { name, isNumber: true, value: (row) => values[row], text };
    });
  return table('Rows of the sweep', columns, csv.rows);
}
