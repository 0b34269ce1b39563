import type { Column } from '../data/table.js';
import type { Placed } from './place.js';
import { isHorizontal } from './place.js';
import { valueText } from './scale.js';
import type { Axis, ChartSpec, Point, Series } from './spec.js';

export interface Values {
  columns: Column[];
  rows: number;
}

/** Returns the values of a chart: a column a series where they share their positions, else a row a point. */
export function values(spec: ChartSpec): Values {
  const along = isHorizontal(spec) ? 'y' : 'x';
  const positions = new Map<number, (Point | undefined)[]>();
  spec.series.forEach((series, s) => {
    for (const point of series.points) {
      const row = positions.get(point[along]) ?? [];
      row[s] = point;
      positions.set(point[along], row);
    }
  });
  const longest = Math.max(0, ...spec.series.map((series) => series.points.length));
  const areShared =
    spec.series.length > 1 && positions.size <= longest * 1.5 && spec.series.every((one) => one.mark !== 'dots');
  return areShared ? wide(spec, along, [...positions.entries()]) : long(spec);
}

function column(name: string, axis: Axis, value: (row: number) => number | undefined): Column {
  const isCategory = axis.scale === 'band';
  return {
    name,
    isNumber: !isCategory,
    value: (row) => {
      const found = value(row);
      return isCategory && found !== undefined ? valueText(axis, found) : found;
    },
    text: (row) => valueText(axis, value(row) ?? NaN),
  };
}

function wide(spec: ChartSpec, along: 'x' | 'y', rows: [number, (Point | undefined)[]][]): Values {
  const across = along === 'x' ? 'y' : 'x';
  rows.sort((a, b) => a[0] - b[0]);
  const columns = [column(spec[along].label, spec[along], (row) => rows[row]?.[0])];
  spec.series.forEach((series, s) => {
    const of = (key: 'x' | 'y' | 'low' | 'high') => (row: number) => rows[row]?.[1][s]?.[key];
    columns.push(column(series.name, spec[across], of(across)));
    if (series.points.some((point) => point.low !== undefined))
      columns.push(column(`${series.name}, low`, spec[across], of('low')));
    if (series.points.some((point) => point.high !== undefined))
      columns.push(column(`${series.name}, high`, spec[across], of('high')));
  });
  return { columns, rows: rows.length };
}

function long(spec: ChartSpec): Values {
  const points = spec.series.flatMap((series) => series.points.map((point) => ({ series, point })));
  const has = (key: keyof Point) => points.some(({ point }) => point[key] !== undefined);
  const text = (name: string, of: (row: number) => string | undefined): Column => ({
    name,
    isNumber: false,
    value: of,
    text: (row) => of(row) ?? '',
  });
  const values = isHorizontal(spec) ? spec.x : spec.y;
  const columns = [
    ...(has('label') ? [text('name', (row) => points[row]?.point.label)] : []),
    ...(spec.series.length > 1 ? [text('series', (row) => points[row]?.series.name)] : []),
    column(spec.x.label, spec.x, (row) => points[row]?.point.x),
    ...(has('to') ? [column(`${spec.x.label}, to`, spec.x, (row) => points[row]?.point.to)] : []),
    column(spec.y.label, spec.y, (row) => points[row]?.point.y),
    ...(has('low') ? [column('low', values, (row) => points[row]?.point.low)] : []),
    ...(has('high') ? [column('high', values, (row) => points[row]?.point.high)] : []),
    ...(has('note') ? [text('note', (row) => points[row]?.point.note)] : []),
  ];
  // The category leads a table of horizontal bars.
  if (isHorizontal(spec) && spec.series.length === 1) columns.sort((a, b) => Number(a.isNumber) - Number(b.isNumber));
  return { columns, rows: points.length };
}

/** Parts of a label with a unit: `TPOT (ms)`. */
function parts(axis: Pick<Axis, 'label'>): { name: string; unit: string } {
  const [, name = axis.label, unit = ''] = /^(.*?) \(([^()]+)\)$/.exec(axis.label) ?? [];
  return { name, unit };
}

/** Text of a value with the unit of its axis, unless its format writes one. */
export function withUnit(axis: Axis, value: number): string {
  const text = valueText(axis, value);
  const { unit } = parts(axis);
  return /\d$/.test(text) && unit !== '' ? `${text} ${unit}` : text;
}

/** Text of a value with its quantity and unit: `TPOT 23.1 ms`. */
function quantity(axis: Axis, value: number): string {
  return axis.scale === 'band' ? valueText(axis, value) : `${parts(axis).name} ${withUnit(axis, value)}`;
}

function interval(spec: ChartSpec, point: Point): string {
  if (point.low === undefined && point.high === undefined) return '';
  const axis = isHorizontal(spec) ? spec.x : spec.y;
  const value = isHorizontal(spec) ? point.x : point.y;
  return ` (${valueText(axis, point.low ?? value)} to ${valueText(axis, point.high ?? value)})`;
}

/** Reads a point aloud, with the values of the other series at the same position. */
export function reading(spec: ChartSpec, at: Placed, all: Placed[]): string {
  const series = spec.series[at.series];
  const point = series?.points[at.index];
  if (series === undefined || point === undefined) return '';
  const [along, across] = isHorizontal(spec) ? (['y', 'x'] as const) : (['x', 'y'] as const);
  const names = [point.label, spec.series.length > 1 ? series.name : undefined].filter((name) => name !== undefined);
  const to = point.to === undefined || isHorizontal(spec) ? '' : ` to ${valueText(spec.x, point.to)}`;
  const head = names.length > 0 ? `${names.join(', ')}: ` : '';
  const value = `${quantity(spec[across], point[across])}${interval(spec, point)}`;
  const text = `${head}${quantity(spec[along], point[along])}${to}, ${value}`;
  const others = series.mark === 'dots' ? [] : othersAt(spec, at, along, across, all);
  return [text, ...others, ...(point.note === undefined ? [] : [point.note])].join('; ');
}

function othersAt(spec: ChartSpec, at: Placed, along: 'x' | 'y', across: 'x' | 'y', all: Placed[]): string[] {
  const pointOf = (place: Placed) => spec.series[place.series]?.points[place.index];
  const position = pointOf(at)?.[along];
  return all
    .filter((place) => place.series !== at.series && pointOf(place)?.[along] === position)
    .slice(0, 6)
    .map(
      (place) =>
        `${(spec.series[place.series] as Series).name} ${valueText(spec[across], pointOf(place)?.[across] ?? NaN)}`,
    );
}
