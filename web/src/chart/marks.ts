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
  dense: { d: string; colour: Token; opacity: number }[];
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
    else if (series.mark === 'bars' || (series.mark === 'stack' && isBand))
      all.nodes.push(...bars(place, series, colour));
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
      return { x: x.at(point.x), y0: y.end(low), y1: high === point.y ? y.at(high) : y.end(high) };
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
  if (series.points.some((point) => intervalOf(point, point.y) !== undefined)) {
    const d = region(vertices((point) => intervalOf(point, point.y) ?? [point.y, point.y])) ?? '';
    nodes.push(node('path', { d, fill: `@${colour}`, 'fill-opacity': '0.18' }));
  }
  if (isFilled)
    nodes.push(node('path', { d: region(values) ?? '', fill: `@${colour}`, 'fill-opacity': isStack ? '0.75' : '0.3' }));
  // A white edge between thin parts would hide them.
  const width = !isStack ? 2 : values.length > 200 ? 0 : 1;
  const dashes = isStack ? '' : dash(colour);
  nodes.push(
    node('path', {
      d: stroke(values) ?? '',
      fill: 'none',
      stroke: `@${isStack ? 'ground' : colour}`,
      'stroke-width': width,
      'stroke-linejoin': 'round',
      ...(dashes && { 'stroke-dasharray': dashes }),
    }),
  );
  if (series.mark === 'line' && values.length <= 30) {
    const d = values.filter(isDrawn).map((v) => `M${px(v.x)} ${px(v.y1)}${shape(colour, 3.2)}`).join('');
    nodes.push(node('path', { d, fill: `@${colour}`, stroke: '@ground', 'stroke-width': 1 }));
  }
  return nodes;
}

/** Adds the right ends of steps that do not hold until the next one. */
function extended(points: Point[]): Point[] {
  return points.flatMap((point, at) => {
    const next = points[at + 1];
    const isHeld = point.to === undefined || (point.to === next?.x && Number.isFinite(next.y));
    return isHeld ? [point] : [point, { ...point, x: point.to ?? NaN }];
  });
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

function dots({ spec, x, y }: Place, series: Series, colour: Token, into: Marks): void {
  const count = series.points.length;
  const places = series.points.flatMap((point) => {
    const place = { point, left: px(x.at(point.x)), top: px(y.at(point.y)) };
    return Number.isFinite(place.left) && Number.isFinite(place.top) ? [place] : [];
  });
  if (count > MAX_SVG_DOTS) {
    into.dense.push(...dense(places, colour));
    return;
  }
  const r = count > 500 ? 2.2 : count > 60 ? 3 : 4.2;
  const whiskers = places.flatMap(({ point, left, top }) =>
    whisker(spec, point, x, y, isHorizontal(spec) ? top : left),
  );
  if (whiskers.length > 0)
    into.nodes.push(node('path', { d: whiskers.join(''), stroke: `@${colour}`, 'stroke-width': 1.5 }));
  const d = places.map(({ left, top }) => `M${left} ${top}${shape(colour, r)}`).join('');
  const opacity = count > 60 ? '0.6' : '0.9';
  into.nodes.push(
    node('path', {
      d,
      fill: `@${colour}`,
      'fill-opacity': opacity,
      stroke: '@ground',
      'stroke-width': count > 500 ? 0 : 0.8,
    }),
  );
}

/** Opacities of dots in the third of places with the fewest dots around them, and so on. */
const OPACITIES = [0.35, 0.6, 0.9];
/** Size in px of the squares in which dots are counted. */
const CELL = 5;

/** Keys of the cells around one, whose columns are `ROW` apart. */
const ROW = 65_536;
const NEIGHBOURS = [-1, 0, 1].flatMap((x) => [-1, 0, 1].map((y) => x * ROW + y));

/** Returns squares for dots, one a pixel, more opaque where they lie closer. */
function dense(places: { left: number; top: number }[], colour: Token): Marks['dense'] {
  const cell = (left: number, top: number) => Math.floor(left / CELL) * ROW + Math.floor(top / CELL);
  const counts = new Map<number, number>();
  const pixels = new Map<number, { left: number; top: number }>();
  for (const place of places) {
    const key = cell(place.left, place.top);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    pixels.set(Math.round(place.left) * ROW + Math.round(place.top), place);
  }
  const around = new Map(
    [...counts.keys()].map((key) => [key, NEIGHBOURS.reduce((sum, by) => sum + (counts.get(key + by) ?? 0), 0)]),
  );
  const sorted = Uint32Array.from(around.values()).sort();
  const third = (n: number) => sorted[Math.floor((sorted.length * n) / 3)] ?? 0;
  const [few, many] = [third(1), third(2)];
  const paths: string[][] = OPACITIES.map(() => []);
  for (const { left, top } of pixels.values()) {
    const count = around.get(cell(left, top)) ?? 0;
    paths[count < few ? 0 : count < many ? 1 : 2]?.push(`M${px(left - 1.2)} ${px(top - 1.2)}h2.4v2.4h-2.4z`);
  }
  return OPACITIES.map((opacity, i) => ({ d: paths[i]?.join('') ?? '', colour, opacity }));
}

/** The ends of the interval around a point, undefined without one. */
function intervalOf(point: Point, value: number): [number, number] | undefined {
  const [low, high] = [point.low ?? value, point.high ?? value];
  const isGiven = point.low !== undefined || point.high !== undefined;
  return isGiven && Number.isFinite(low) && Number.isFinite(high) ? [low, high] : undefined;
}

/** The line of an interval along the axis of values, at `middle` of the other axis. */
function whisker(spec: ChartSpec, point: Point, x: Scale, y: Scale, middle: number): string[] {
  const lies = isHorizontal(spec);
  const ends = intervalOf(point, lies ? point.x : point.y)?.map((value) => px((lies ? x : y).end(value)));
  if (ends === undefined) return [];
  return [lies ? `M${ends[0]} ${px(middle)}H${ends[1]}` : `M${px(middle)} ${ends[0]}V${ends[1]}`];
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
    const start = values.end(bases.has(series) ? low : base);
    const end = values.end(high);
    const { offset, width } = slot(horizontal ? y.band : x.band);
    const middle = (horizontal ? y.at(point.y) : x.at(point.x)) + offset;
    const isNumeric = !horizontal && x.band === 0;
    const [left, right] = isNumeric
      ? edges(x.at(point.x), x.at(point.to ?? point.x))
      : [middle - width / 2, middle + width / 2];
    if (![left, right, start, end].every(Number.isFinite)) return;
    // Of the bars in one pixel, the highest is drawn.
    const key = isNumeric && right - left <= 2 ? left : -1 - index;
    const before = columns.get(key);
    if (before === undefined || end < before[3]) columns.set(key, [left, right, start, end]);
    whiskers.push(...whisker(spec, point, x, y, horizontal ? middle : (left + right) / 2));
  });
  const d = [...columns.values()].map(([left, right, start, end]) =>
    horizontal
      ? `M${px(start)} ${px(left)}H${px(end)}V${px(right)}H${px(start)}z`
      : `M${px(left)} ${px(start)}V${px(end)}H${px(right)}V${px(start)}z`,
  );
  const nodes = [node('path', { d: d.join(''), fill: `@${colour}`, 'fill-opacity': '0.85' })];
  if (bases.has(series))
    nodes.push(node('path', { d: d.join(''), fill: 'none', stroke: '@ground', 'stroke-width': 1 }));
  if (whiskers.length > 0) nodes.push(node('path', { d: whiskers.join(''), stroke: '@ink', 'stroke-width': 1.2 }));
  return nodes;
}

/** Edges of a bar on a numeric axis: with a gap to the next where there is room, else on whole pixels. */
function edges(left: number, right: number): [number, number] {
  if (right - left > 5) return [left, right - 1];
  return [Math.floor(left), Math.max(Math.floor(left) + 1, Math.floor(right))];
}
