import type { Scale } from './scale.js';
import type { ChartSpec, Point, Series } from './spec.js';

/** Whether bars lie: the categories are on the y axis and the values on x. */
export function isHorizontal(spec: ChartSpec): boolean {
  return spec.y.scale === 'band';
}

/** Sums of the series of a stack below each point, by series and position along the stack. */
export type Bases = Map<Series, Map<number, number>>;

export function stackBases(spec: ChartSpec, visible: boolean[]): Bases {
  const sums = new Map<number, number>();
  const bases: Bases = new Map();
  spec.series.forEach((series, i) => {
    if (series.mark !== 'stack' || !visible[i]) return;
    const base = new Map<number, number>();
    for (const { x, y } of series.points) {
      const [along, value] = isHorizontal(spec) ? [y, x] : [x, y];
      const below = sums.get(along) ?? 0;
      base.set(along, below);
      if (Number.isFinite(value)) sums.set(along, below + value);
    }
    bases.set(series, base);
  });
  return bases;
}

/** Ends of the mark of a point on the axis of values: its value, and in a stack the sum below it. */
export function ends(spec: ChartSpec, series: Series, point: Point, bases: Bases): [number, number] {
  const [along, value] = isHorizontal(spec) ? [point.y, point.x] : [point.x, point.y];
  const below = bases.get(series)?.get(along) ?? 0;
  return [below, below + value];
}

/** Offset and width of the bars of one of several series beside each other in a category, in px. */
export function barSlot(band: number, position: number, of: number): { offset: number; width: number } {
  const width = Math.min((band * 0.72) / of, 46);
  return { offset: (position - (of - 1) / 2) * width, width: Math.max(1, width - (of > 1 ? 1 : 0)) };
}

/** A point and where it is drawn. */
export interface Placed {
  series: number;
  index: number;
  x: number;
  y: number;
}

/** Places the points of all visible series for reading values. A horizontal chart has its values on x. */
export function placed(spec: ChartSpec, visible: boolean[], x: Scale, y: Scale, bases: Bases): Placed[] {
  const bars = spec.series.filter((series, i) => series.mark === 'bars' && visible[i]);
  const places: Placed[] = [];
  spec.series.forEach((series, s) => {
    if (!visible[s]) return;
    const band = Math.max(x.band, y.band);
    const slot = series.mark === 'bars' && band > 0 ? barSlot(band, bars.indexOf(series), bars.length).offset : 0;
    series.points.forEach((point, index) => {
      const end = ends(spec, series, point, bases)[1];
      const at = point.to !== undefined && series.mark === 'bars' ? (point.x + point.to) / 2 : point.x;
      const place = isHorizontal(spec)
        ? { x: x.at(end), y: y.at(point.y) + slot }
        : { x: x.at(at) + slot, y: y.at(end) };
      if (Number.isFinite(place.x) && Number.isFinite(place.y)) places.push({ series: s, index, ...place });
    });
  });
  return places;
}
