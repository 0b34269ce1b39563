/** A run over time: windows as charts that share their axis. */
import { chart, linked, type Limit, type Point, type Series } from '../../chart/index.js';
import type { Csv } from '../../data/csv.js';
import { list, num, truth, type Json } from '../../data/json.js';
import { threeDigits } from '../../data/number.js';
import { absent } from '../dom.js';

/** Values of a column, one a window. */
type Column = (name: string) => (number | undefined)[];

interface Windows {
  from: number[];
  to: number[];
  column: Column;
}

/** Returns windows of the report of a run. */
function ofReport(run: Json): Windows {
  // The last window ends with the run, and the rates of a short rest say little.
  const windows = list(run, 'windows').filter((it, _, all) => !truth(it, 'is_partial') || all.length === 1);
  const known = windows.filter((it) => num(it, 'from_s') !== undefined && num(it, 'to_s') !== undefined);
  const column: Column = (name) => {
    const [, latency, figure] = /^(ttft|tpot|itl|e2e|queue)_(mean|p50|p90|p95|p99|p99_9)_ms$/.exec(name) ?? [];
    return known.map((it) => num(it, latency === undefined ? name : `${latency}_ms.${figure}`));
  };
  return { from: known.map((it) => num(it, 'from_s') ?? 0), to: known.map((it) => num(it, 'to_s') ?? 0), column };
}

/** Returns windows of `--windows-out`. */
function ofCsv(csv: Csv): Windows {
  const partial = csv.texts('is_partial');
  const [from, to] = [csv.numbers('from_s'), csv.numbers('to_s')];
  const rows = Array.from({ length: csv.rows }, (_, row) => row).filter(
    (row) => (partial[row] !== 'true' || csv.rows === 1) && Number.isFinite(from?.[row]) && Number.isFinite(to?.[row]),
  );
  const column: Column = (name) => {
    const values = csv.numbers(name);
    return rows.map((row) => {
      const value = values?.[row];
      return value === undefined || Number.isNaN(value) ? undefined : value;
    });
  };
  return { from: rows.map((row) => from?.[row] ?? 0), to: rows.map((row) => to?.[row] ?? 0), column };
}

/** Returns the charts of a run over time, from the input of its windows if there is one. */
export function overTime(run: Json, csv: Csv | undefined): HTMLElement[] {
  const windows = csv ? ofCsv(csv) : ofReport(run);
  if (windows.from.length === 0) {
    return [absent('Figures over time are not in this report.', 'Run again with ', '--windows auto')];
  }
  const figures = charts(windows, num(run, 'kv_blocks'), steadyPart(run));
  if (figures.length > 1) linked(figures);
  return figures;
}

/** Returns the ends of the part of the run that the figures of the report are of. */
function steadyPart(run: Json): Limit[] {
  const ends = [['from_s', 'warm-up ends'], ['to_s', 'last arrival']] as const;
  return ends.flatMap(([key, label]) => {
    const value = num(run, `steady.${key}`);
    return value === undefined ? [] : [{ axis: 'x', value, label }];
  });
}

function charts(windows: Windows, kvBlocks: number | undefined, steady: Limit[]): HTMLElement[] {
  const width = (windows.to[0] ?? 0) - (windows.from[0] ?? 0);
  const per = (values: (number | undefined)[]): (number | undefined)[] =>
    values.map((value, at) =>
      value === undefined ? undefined : value / ((windows.to[at] ?? 0) - (windows.from[at] ?? 0)),
    );
  const steps = (name: string, values: (number | undefined)[], mark: Series['mark'] = 'steps'): Series[] => {
    const points = values.map((y, at): Point => ({ x: windows.from[at] ?? 0, to: windows.to[at] ?? 0, y: y ?? NaN }));
    return values.some((value) => value !== undefined) ? [{ name, mark, points }] : [];
  };
  const { column } = windows;
  const share =
    kvBlocks === undefined
      ? []
      : column('kv_blocks_mean').map((value) => (value === undefined ? undefined : (100 * value) / kvBlocks));
  const all: [string, string, Series[]][] = [
    [
      'Requests per second',
      'requests/s',
      [...steps('arrive', per(column('arrived'))), ...steps('complete', column('requests_per_s'))],
    ],
    [
      'Requests at once, averaged over each window',
      'requests',
      [...steps('running', column('running_mean')), ...steps('waiting', column('waiting_mean'))],
    ],
    kvBlocks === undefined
      ? ['KV blocks held, averaged over each window', 'KV blocks', steps('KV blocks', column('kv_blocks_mean'), 'area')]
      : ['KV cache held, averaged over each window', 'KV blocks (%)', steps('KV cache', share, 'area')],
    ['TTFT of the requests that end in each window (ms)', 'TTFT (ms)',
      [...steps('mean', column('ttft_mean_ms')), ...steps('p99', column('ttft_p99_ms'))]],
    ['TPOT of the requests that end in each window (ms)', 'TPOT (ms)',
      [...steps('mean', column('tpot_mean_ms')), ...steps('p99', column('tpot_p99_ms'))]],
  ];
  const some = all.filter(([, , series]) => series.length > 0);
  return some.map(([title, label, series], at) => chart({
    title,
    ...(at === 0 ? { note: `Each window lasts ${threeDigits(width)} s; warm-up and drain are included.` } : {}),
    x: { label: 'Simulated time (s)', scale: 'linear' },
    y: { label, scale: 'linear', domain: [0, Math.max(...series.flatMap(highest), 0)] },
    series,
    ...(at === 0 ? { limits: steady } : {}),
    height: 180,
  }));
}

/** Returns the highest value of a series, if it has one. */
function highest({ points }: Series): number[] {
  const values = points.map(({ y }) => y).filter(Number.isFinite);
  return values.length === 0 ? [] : [values.reduce((most, value) => Math.max(most, value))];
}
