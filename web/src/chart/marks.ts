import { area, curveLinear, curveStepAfter, line } from 'd3-shape';
import { node, px, type Node } from './node.js';
import { dash, shape, token, type Token } from './palette.js';
import { barSlot, ends, isHorizontal, type Bases } from './place.js';
import type { Scale } from './scale.js';
import type { ChartSpec, Point, Series } from './spec.js';

/** Points beyond which a path keeps only the extremes of each pixel. */
const MAX_PATH_POINTS = 4000;
/** Dots beyond which they are squares on a canvas. */
export const MAX_SVG_DOTS = 2000;

export interface Marks {
  nodes: Node[];
  /** Dots too many for elements. */
  dense: { d: string; colour: Token }[];
}

interface Place {
  spec: ChartSpec;
  visible: boolean[];
  x: Scale;
  y: Scale;
  bases: Bases;
}

/** A vertex of a line or an area, in px. */
interface Vertex {
  x: number;
  y0: number;
  y1: number;
}

/** Draws the visible series; the first of the list is the lowest. */
export function marks(place: Place): Marks {
  const all: Marks = { nodes: [], dense: [] };
  place.spec.series.forEach((series, i) => {
    if (!place.visible[i]) return;
    const colour = token(series.colour, i);
    const isBand = place.x.band > 0 || place.y.band > 0;
    if (series.mark === 'dots') dots(place, series, colour, all);
    else if (series.mark === 'bars' || (series.mark === 'stack' && isBand)) all.nodes.push(...bars(place, series, colour));
    else all.nodes.push(...path(place, series, colour));
  });
  return all;
}

function path({ spec, x, y, bases }: Place, series: Series, colour: Token): Node[] {
  const isStack = series.mark === 'stack';
  const isFilled = isStack || series.mark === 'area';
  const curve = series.mark === 'line' ? curveLinear : curveStepAfter;
  const floor = spec.y.scale === 'log' ? y.domain[0] : 0;
  const vertices = (of: (point: Point) => [number, number]): Vertex[] => {
    const all = extended(series.points).map((point) => {
      const [low, high] = of(point);
      return { x: x.at(point.x), y0: y.at(low), y1: y.at(high) };
    });
    return all.length > MAX_PATH_POINTS ? thinned(all) : all;
  };
  const isDrawn = (v: Vertex) => Number.isFinite(v.x) && Number.isFinite(v.y0) && Number.isFinite(v.y1);
  const region = area<Vertex>().defined(isDrawn).x((v) => v.x).y0((v) => v.y0).y1((v) => v.y1).curve(curve).digits(1);
  const stroke = line<Vertex>().defined(isDrawn).x((v) => v.x).y((v) => v.y1).curve(curve).digits(1);
  const values = vertices((point) => {
    const [low, high] = ends(spec, series, point, bases);
    return [isStack ? low : floor, high];
  });
  const nodes: Node[] = [];
  if (series.points.some(hasInterval)) {
    const d = region(vertices((point) => [point.low ?? point.y, point.high ?? point.y])) ?? '';
    nodes.push(node('path', { d, fill: `@${colour}`, 'fill-opacity': '0.18' }));
  }
  if (isFilled) nodes.push(node('path', { d: region(values) ?? '', fill: `@${colour}`, 'fill-opacity': isStack ? '0.75' : '0.3' }));
  // A white edge between thin parts would hide them.
  const width = !isStack ? 2 : values.length > 200 ? 0 : 1;
  const dashes = isStack ? '' : dash(colour);
  nodes.push(
    node('path', { d: stroke(values) ?? '', fill: 'none', stroke: `@${isStack ? 'ground' : colour}`, 'stroke-width': width, 'stroke-linejoin': 'round', ...(dashes && { 'stroke-dasharray': dashes }) }),
  );
  if (series.mark === 'line' && values.length <= 30) {
    const d = values.filter(isDrawn).map((v) => `M${px(v.x)} ${px(v.y1)}${shape(colour, 3.2)}`).join('');
    nodes.push(node('path', { d, fill: `@${colour}`, stroke: '@ground', 'stroke-width': 1 }));
  }
  return nodes;
}

/** Adds the right end of the last step. */
function extended(points: Point[]): Point[] {
  const last = points.at(-1);
  return last?.to === undefined ? points : [...points, { ...last, x: last.to }];
}

/** Keeps the first, the extremes and the last of the vertices of each pixel column. */
function thinned(vertices: Vertex[]): Vertex[] {
  const kept: Vertex[] = [];
  let column: Vertex[] = [];
  const flush = () => {
    if (column.length < 5) kept.push(...column);
    else {
      const by = (sign: number) => column.reduce((best, v) => (sign * v.y1 < sign * best.y1 ? v : best));
      const keep = new Set([column[0], by(1), by(-1), column.at(-1)]);
      kept.push(...column.filter((v) => keep.has(v)));
    }
    column = [];
  };
  for (const vertex of vertices) {
    if (column[0] !== undefined && Math.floor(vertex.x) !== Math.floor(column[0].x)) flush();
    column.push(vertex);
  }
  flush();
  return kept;
}

function dots({ x, y }: Place, series: Series, colour: Token, into: Marks): void {
  const isDense = series.points.length > MAX_SVG_DOTS;
  const r = isDense ? 1.5 : series.points.length > 500 ? 2.2 : series.points.length > 60 ? 3 : 4.2;
  const whiskers: string[] = [];
  const at = new Map<string, string>();
  for (const point of series.points) {
    const [left, middle] = [px(x.at(point.x)), px(y.at(point.y))];
    if (!Number.isFinite(left) || !Number.isFinite(middle)) continue;
    const d = isDense ? `M${px(left - r)} ${px(middle - r)}h${2 * r}v${2 * r}h${-2 * r}z` : `M${left} ${middle}${shape(colour, r)}`;
    // Dots at one pixel are drawn once.
    at.set(isDense ? `${Math.round(left)} ${Math.round(middle)}` : d, d);
    if (!isDense && hasInterval(point)) whiskers.push(`M${left} ${px(y.at(point.low ?? point.y))}V${px(y.at(point.high ?? point.y))}`);
  }
  const d = [...at.values()].join('');
  if (whiskers.length > 0) into.nodes.push(node('path', { d: whiskers.join(''), stroke: `@${colour}`, 'stroke-width': 1.5 }));
  if (isDense) into.dense.push({ d, colour });
  else into.nodes.push(node('path', { d, fill: `@${colour}`, 'fill-opacity': series.points.length > 60 ? '0.6' : '0.9', stroke: '@ground', 'stroke-width': series.points.length > 500 ? 0 : 0.8 }));
}

function hasInterval(point: Point): boolean {
  return point.low !== undefined || point.high !== undefined;
}

function bars({ spec, visible, x, y, bases }: Place, series: Series, colour: Token): Node[] {
  const beside = spec.series.filter((other, i) => other.mark === 'bars' && visible[i]);
  const slot = (band: number) =>
    series.mark === 'bars' ? barSlot(band, beside.indexOf(series), beside.length) : barSlot(band, 0, 1);
  const horizontal = isHorizontal(spec);
  const values = horizontal ? x : y;
  const isLog = (horizontal ? spec.x : spec.y).scale === 'log';
  const base = isLog ? values.domain[0] : 0;
  const columns = new Map<number, [number, number, number, number]>();
  const whiskers: string[] = [];
  series.points.forEach((point, index) => {
    const [low, high] = ends(spec, series, point, bases);
    const start = values.at(bases.has(series) ? low || base : base);
    const end = values.at(high || base);
    const { offset, width } = slot(horizontal ? y.band : x.band);
    const middle = (horizontal ? y.at(point.y) : x.at(point.x)) + offset;
    const isNumeric = !horizontal && x.band === 0;
    const left = isNumeric ? x.at(point.x) : middle - width / 2;
    const right = isNumeric ? numericRight(left, x.at(point.to ?? point.x)) : middle + width / 2;
    if (![left, right, start, end].every(Number.isFinite)) return;
    // Of the bars in one pixel, the highest is drawn.
    const key = isNumeric && right - left < 2 ? Math.round(left) : -1 - index;
    const before = columns.get(key);
    if (before === undefined || end < before[3]) columns.set(key, [left, right, start, end]);
    if (hasInterval(point)) {
      const value = horizontal ? point.x : point.y;
      const [from, to] = [px(values.at(point.low ?? value)), px(values.at(point.high ?? value))];
      whiskers.push(horizontal ? `M${from} ${px(middle)}H${to}` : `M${px((left + right) / 2)} ${from}V${to}`);
    }
  });
  const d = [...columns.values()].map(([left, right, start, end]) =>
    horizontal
      ? `M${px(start)} ${px(left)}H${px(end)}V${px(right)}H${px(start)}z`
      : `M${px(left)} ${px(start)}V${px(end)}H${px(right)}V${px(start)}z`,
  );
  const nodes = [node('path', { d: d.join(''), fill: `@${colour}`, 'fill-opacity': '0.85' })];
  if (bases.has(series)) nodes.push(node('path', { d: d.join(''), fill: 'none', stroke: '@ground', 'stroke-width': 1 }));
  if (whiskers.length > 0) nodes.push(node('path', { d: whiskers.join(''), stroke: '@ink', 'stroke-width': 1.2 }));
  return nodes;
}

/** Right edge of a bar on a numeric axis, with a gap to the next where there is room. */
function numericRight(left: number, right: number): number {
  return right - left > 5 ? right - 1 : Math.max(left + 1, right);
}
