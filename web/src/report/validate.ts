/** The section of predictions beside measurements, from `rooflut-lab validate --json`. */
import { chart, coloured, type Colour, type Point, type Series } from '../chart/index.js';
import { groupBy } from '../data/group.js';
import { get, list, num, text, type Json } from '../data/json.js';
import { fixed, percent, plural, threeDigits } from '../data/number.js';
import { table, type Column } from '../data/table.js';
import { absent, answer, folded, grid, group, h, paragraph, type Child } from './dom.js';
import { select } from './sweep/figures.js';

/** Names and units of metrics. */
const METRICS: Record<string, string> = {
  ttft: 'TTFT (ms)',
  warm_ttft: 'TTFT of a warm server (ms)',
  tpot: 'TPOT (ms)',
  e2e: 'E2E (ms)',
  prefill: 'Prefill (ms)',
  step: 'Step (ms)',
  kv_blocks: 'KV blocks',
};
const WORST = 50;

interface Row {
  predicted: number;
  actual: number;
  ape: number;
  json: Json;
}

export function validateSection(json: Json): Child[] {
  const rows = list(json, 'rows').flatMap((row): Row[] => {
    const [predicted, actual] = [num(row, 'predicted'), num(row, 'actual')];
    if (predicted === undefined || actual === undefined || !(predicted > 0) || !(actual > 0)) return [];
    return [{ predicted, actual, ape: num(row, 'ape') ?? Math.abs(100 * (predicted / actual - 1)), json: row }];
  });
  if (rows.length === 0)
    return [
      absent('The report has no predictions beside measurements.', 'Make it with ', 'rooflut-lab validate --json'),
    ];
  return [
    answer(sentence(json, rows)),
    paragraph('An error is that of the prediction in percent of the measurement; a positive one predicts too much.'),
    group('Predicted against measured', ...scatter(rows)),
    group('Errors', summary(json)),
    group('Coverage of the intervals', coverage(json)),
    group('The worst rows', worst(rows)),
    group('Left out', skipped(json)),
  ];
}

function sentence(json: Json, rows: Row[]): string {
  const metrics = [...new Set(rows.map((row) => text(row.json, 'metric') ?? ''))];
  const said = metrics.slice(0, 4).map((metric) => {
    const errors = rows
      .filter((row) => text(row.json, 'metric') === metric)
      .map((row) => row.ape)
      .sort((a, b) => a - b);
    const middle = ((errors[(errors.length - 1) >> 1] ?? 0) + (errors[errors.length >> 1] ?? 0)) / 2;
    return `${metricName(metric)} ${threeDigits(middle)} % (${fixed(errors.length, 0)})`;
  });
  const files = new Set(list(json, 'rows').map((row) => text(row, 'file'))).size;
  const counted = `${plural(rows.length, 'prediction')} beside measurements from ${plural(files, 'file')}`;
  return `${counted}. Median absolute error: ${said.join(', ')}.`;
}

const metricName = (metric: string): string => (METRICS[metric] ?? metric.replaceAll('_', ' ')).replace(/ \(.*\)$/, '');

/** Dots of one metric, told apart by a column that can be chosen. */
function scatter(rows: Row[]): HTMLElement[] {
  const metrics = [...new Set(rows.map((row) => text(row.json, 'metric') ?? ''))];
  const metric = select('Metric', metrics.map((name) => [name, METRICS[name] ?? name]));
  const by = select('Told apart by', [['gpu', 'GPU'], ['model', 'model'], ['file', 'file'], ['engine', 'engine']]);
  const holder = h('div', { class: 'chosen' });
  const draw = (): void =>
    holder.replaceChildren(
      dots(
        rows.filter((row) => text(row.json, 'metric') === metric.input.value),
        metric.input.value,
        by.input.value,
      ),
    );
  for (const { input } of [metric, by]) input.addEventListener('change', draw);
  draw();
  return [h('div', { class: 'controls' }, metric.label, by.label), holder];
}

function dots(rows: Row[], metric: string, by: string): HTMLElement {
  const groups = groupBy(rows, (row) => text(row.json, by) ?? 'unknown');
  const sorted = [...groups].sort(([, a], [, b]) => b.length - a.length);
  const { own, others } = coloured(sorted);
  const named = (name: string, rows: Row[], colour: Colour): Series => ({
    name: `${name} (${fixed(rows.length, 0)})`, mark: 'dots', points: rows.map(point), colour,
  });
  const series = own.map(([name, rows], at) => named(name, rows, at as Colour));
  if (others.length > 0) series.push(named('others', others.flatMap(([, rows]) => rows), 'muted'));
  const values = rows.flatMap((row) => [row.predicted, row.actual]);
  const ends = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const label = METRICS[metric] ?? metric;
  const within = rows.filter((row) => row.ape <= 10).length;
  const close = `${percent((100 * within) / rows.length)} of ${plural(rows.length, 'prediction')}`;
  return chart({
    title: `${close} of ${metricName(metric)} are within 10 % of the measurement`,
    note: 'On the line a prediction is exact, above it too large. Both axes are logarithmic.',
    x: { label: `Measured ${label}`, scale: 'log' },
    y: { label: `Predicted ${label}`, scale: 'log' },
    series: [{ name: 'exact', mark: 'line', colour: 'muted', points: ends.map((x) => ({ x, y: x })) }, ...series],
    height: 460,
  });
}

function point(row: Row): Point {
  const [low, high] = [num(row.json, 'low'), num(row.json, 'high')];
  const stage = get(row.json, 'stage');
  const shown = typeof stage === 'string' || typeof stage === 'number' ? stage : '';
  return {
    x: row.actual,
    y: row.predicted,
    ...(low === undefined || high === undefined ? {} : { low, high }),
    label: `${text(row.json, 'model') ?? '-'} on ${text(row.json, 'gpu') ?? '-'} tp ${num(row.json, 'tp') ?? '-'}`,
    note: `${text(row.json, 'id') ?? ''} ${shown}, error ${threeDigits(row.ape)} %`,
  };
}

function summary(json: Json): HTMLElement | undefined {
  const rows = list(json, 'summary').map((row) => [
    text(row, 'file') ?? '-', text(row, 'gpu') ?? '-', text(row, 'metric') ?? '-', fixed(num(row, 'n') ?? 0, 0),
    ...['median_ape', 'mean_ape', 'p90_ape', 'max_ape', 'mean_signed'].map((key) => {
      const value = num(row, key);
      return value === undefined ? '-' : fixed(value, 1);
    }),
  ]);
  return rows.length === 0
    ? undefined
    : foldedIfLong(rows.length, 'Errors (%)', () =>
        grid('Errors (%)', ['File', 'GPU', 'Metric', 'Rows', 'Median', 'Mean', 'p90', 'Largest', 'Mean signed'], rows),
      );
}

function coverage(json: Json): HTMLElement | undefined {
  const all = list(json, 'coverage');
  if (all.length === 0) return absent('The report has no coverages.', 'Make it with ', 'rooflut-lab validate --json');
  const nominal = [...new Set(all.map((row) => num(row, 'nominal')))]
    .filter((it) => it !== undefined)
    .sort((a, b) => a - b);
  const names = groupBy(all, (row) =>
    [text(row, 'file'), text(row, 'gpu'), text(row, 'metric')].map((it) => it ?? '-').join('\n'),
  );
  const rows = [...names].map(([name, rows]) => [
    ...name.split('\n'), fixed(num(rows[0], 'n') ?? 0, 0),
    ...nominal.map((of) => {
      const covered = num(rows.find((row) => num(row, 'nominal') === of), 'covered');
      return covered === undefined ? '-' : percent(100 * covered);
    }),
  ]);
  return foldedIfLong(rows.length, 'Share of measurements within intervals', () =>
    grid(
      'Share of measurements within intervals',
      ['File', 'GPU', 'Metric', 'Rows', ...nominal.map((of) => `meant: ${percent(100 * of)}`)],
      rows,
    ),
  );
}

/** Folds a long table away. */
function foldedIfLong(rows: number, title: string, table: () => HTMLElement): HTMLElement {
  return rows <= 12 ? table() : folded(`${title}, ${plural(rows, 'row')}`, table);
}

function worst(rows: Row[]): HTMLElement {
  const sorted = [...rows].sort((a, b) => b.ape - a.ape).slice(0, WORST);
  const of = (key: string): Column => ({
    name: key,
    isNumber: false,
    value: (at) => text(sorted[at]?.json, key),
    text: (at) => text(sorted[at]?.json, key) ?? '-',
  });
  const figure = (name: string, value: (row: Row) => number): Column => ({
    name,
    isNumber: true,
    value: (at) => sorted[at] && value(sorted[at]),
    text: (at) => (sorted[at] ? threeDigits(value(sorted[at])) : '-'),
  });
  const columns = [
    of('id'),
    of('model'),
    of('gpu'),
    of('metric'),
    figure('predicted', (row) => row.predicted),
    figure('measured', (row) => row.actual),
    figure('error %', (row) => row.ape),
  ];
  return table(`The ${sorted.length} rows with the largest errors`, columns, sorted.length);
}

function skipped(json: Json): HTMLElement | undefined {
  const rows = [...list(json, 'skipped'), ...list(json, 'metrics_skipped')].map((row) => [
    text(row, 'file') ?? '-',
    text(row, 'reason') ?? '-',
    fixed(num(row, 'rows') ?? 0, 0),
  ]);
  return rows.length === 0
    ? undefined
    : folded(`Rows that were left out for ${plural(rows.length, 'reason')}`, () =>
        grid('Rows that were left out', ['File', 'Reason', 'Rows'], rows),
      );
}
