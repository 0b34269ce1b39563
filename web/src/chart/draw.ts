import { axes, categoryRows } from './axes.js';
import { domainOf, type View } from './frame.js';
import { spread, type EndLabel } from './labels.js';
import type { Margins } from './linked.js';
import { marks, type Marks } from './marks.js';
import { node, px, type Node } from './node.js';
import { token, type Token } from './palette.js';
import { ends, placed, stackBases, type Bases, type Placed } from './place.js';
import { bandScale, numericScale, type Domain, type Scale } from './scale.js';
import type { ChartSpec, Series } from './spec.js';
import { tags } from './tags.js';
import { fitted, LINE, TEXT, textWidth } from './text.js';

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A drawn chart: what is below the data, the data, what is above it, and how to read it. */
export interface Drawing {
  below: Node[];
  marks: Marks;
  above: Node[];
  plot: Box;
  x: Scale;
  y: Scale;
  /** Domain of y without zoom. */
  fullY: Domain;
  placed: Placed[];
  /** Room beside the plot that this chart needs on its own. */
  margins: Margins;
  /** Whether the series are named at the ends of their lines, so that no legend is needed. */
  isLabelled: boolean;
}

/** Shows the part of a plot that is being selected. */
export function selection({ left, right, top, bottom }: Box): Node {
  return node('rect', {
    x: left,
    y: top,
    width: right - left,
    height: bottom - top,
    fill: '@faint',
    'fill-opacity': '0.18',
    stroke: '@faint',
  });
}

/** Height of a chart, by default enough for its lying bars. */
export function heightOf(spec: ChartSpec): number {
  const lying = spec.y.scale === 'band' ? (spec.y.categories ?? []).length * 30 + 70 : 320;
  return spec.height ?? Math.min(lying, 900);
}

/** Draws a chart at the size of the view. */
export function draw(spec: ChartSpec, view: View): Drawing {
  const visible = spec.series.map((_, i) => !view.hidden.has(i));
  const shown = spec.series.filter((_, i) => visible[i]);
  const counted = shown.length > 0 ? shown : spec.series;
  const bases = stackBases(spec, visible);

  const yCategories = spec.y.scale === 'band' ? (spec.y.categories ?? []) : undefined;
  const top = LINE + 10;
  const bottom = view.height - LINE * 2 - 12;
  const fullY = domainOf(spec, 'y', counted, bases);
  const yDomain = view.y ?? fullY;
  const yScale = (lowest: number) =>
    yCategories
      ? bandScale(yCategories, [top, lowest])
      : numericScale(spec.y, yDomain, [lowest, top], Math.max(2, Math.round((lowest - top) / 48)));
  const yWidth = Math.max(0, ...yScale(bottom).ticks.map((tick) => textWidth(tick.text, TEXT)));
  const ownLeft = Math.ceil(Math.min(yWidth, view.width * 0.38)) + 10;
  const left = Math.max(ownLeft, view.margins?.left ?? 0);

  const names = endNames(spec, view);
  const labelWidth = names ? Math.min(Math.max(...names.map((name) => textWidth(name, TEXT))), view.width * 0.26) : 0;
  let ownRight = names ? Math.ceil(labelWidth) + 22 : 14;
  let right = view.width - Math.max(ownRight, view.margins?.right ?? 0);
  const xCategories = spec.x.scale === 'band' ? (spec.x.categories ?? []) : undefined;
  const xDomain = view.x ?? domainOf(spec, 'x', counted, bases);
  const xScale = (last: number) =>
    xCategories
      ? bandScale(xCategories, [left, last])
      : numericScale(spec.x, xDomain, [left, last], Math.max(2, Math.round((last - left) / 90)));
  let x = xScale(right);
  const rows = xCategories ? categoryRows(x) : 1;
  const lowest = bottom - (rows - 1) * (LINE - 1);
  const y = yScale(lowest);

  const labels = names && endLabels(spec, shown, names, { x, y, bases }, [top, lowest]);
  if (labels === undefined) {
    ownRight = 14;
    right = view.width - Math.max(ownRight, view.margins?.right ?? 0);
    x = xScale(right);
  }
  const plot = { left, top, right, bottom: lowest };
  const places = placed(spec, visible, x, y, bases);
  return {
    below: axes(spec, plot, x, y, view.width),
    marks: marks({ spec, visible, x, y, bases }),
    above: [
      ...tags(spec, plot, places),
      ...limits(spec, plot, x, y),
      ...(labels ? endTexts(labels, plot, labelWidth) : []),
    ],
    plot,
    x,
    y,
    fullY,
    placed: places,
    margins: { left: ownLeft, right: ownRight },
    isLabelled: labels !== undefined,
  };
}

/** Names to stand at the ends of lines, where the marks are lines and there is room. */
function endNames(spec: ChartSpec, view: View): string[] | undefined {
  const areLines = spec.x.scale !== 'band' && spec.series.every((one) => one.mark !== 'dots' && one.mark !== 'bars');
  const fits = spec.series.length > 1 && spec.series.length <= 7 && view.width >= 560 && view.hidden.size === 0;
  return areLines && fits && spec.y.scale !== 'band' ? spec.series.map((one) => one.name) : undefined;
}

/** The share of the width of a plot that a name's line may cross: beside a line that ends early a legend says more. */
const LONGEST_LEADER = 0.3;

type NamedEnd = EndLabel & { x: number; colour: Token };

function endLabels(
  spec: ChartSpec,
  shown: Series[],
  names: string[],
  { x, y, bases }: { x: Scale; y: Scale; bases: Bases },
  [top, bottom]: [number, number],
): NamedEnd[] | undefined {
  const found = shown.flatMap((series, i) => {
    const within = series.points.filter(
      (point) => point.x <= x.domain[1] && Number.isFinite(point.y) && Number.isFinite(y.at(point.y)),
    );
    const last = within.at(-1);
    if (last === undefined) return [];
    const [low, high] = ends(spec, series, last, bases);
    const at = y.at(series.mark === 'stack' ? (low + high) / 2 : high);
    const target = Math.max(top, Math.min(bottom, at));
    return [{ text: names[i] ?? '', target, x: x.at(last.to ?? last.x), colour: token(series.colour, i) }];
  });
  const [left, right] = x.domain.map((end) => x.at(end)) as Domain;
  const areNear = found.every((end) => right - end.x <= LONGEST_LEADER * (right - left));
  return areNear ? (spread(found, LINE, top, bottom) as NamedEnd[] | undefined) : undefined;
}

function endTexts(labels: NamedEnd[], plot: Box, width: number): Node[] {
  const within = (x: number): number => Math.max(plot.left, Math.min(x, plot.right));
  return labels.flatMap(({ text, target, y, x, colour }) => [
    node('path', {
      d: `M${px(within(x))} ${px(target)}H${px(plot.right + 2)}L${px(plot.right + 9)} ${px(y)}h5`,
      fill: 'none',
      stroke: `@${colour}`,
      'stroke-width': 1,
    }),
    node('text', { x: plot.right + 18, y: y + 4.5, fill: '@ink' }, fitted(text, TEXT, width + 4)),
  ]);
}

/** Returns a function that gives each label beside a vertical line the first row in which it covers no other. */
function rowsOfLabels(): (edge: number, isBefore: boolean, width: number) => number {
  const rows: Domain[][] = [];
  return (edge, isBefore, width) => {
    const [from, to] = isBefore ? [edge - width - 8, edge] : [edge, edge + width + 8];
    const isFree = (spans: Domain[]) => spans.every(([start, end]) => to <= start || from >= end);
    const free = rows.findIndex(isFree);
    const row = free < 0 ? rows.push([]) - 1 : free;
    rows[row]?.push([from, to]);
    return row;
  };
}

/** Limits as thin lines with their labels; one outside of the view is named at the edge that it lies behind. */
function limits(spec: ChartSpec, plot: Box, x: Scale, y: Scale): Node[] {
  const rowOf = rowsOfLabels();
  return (spec.limits ?? []).flatMap((limit) => {
    const at = limit.axis === 'x' ? x.at(limit.value) : y.at(limit.value);
    const [from, to] = limit.axis === 'x' ? [plot.left, plot.right] : [plot.top, plot.bottom];
    if (!Number.isFinite(at)) return [];
    const isOut = at < from - 1 || at > to + 1;
    const isAfter = at > (from + to) / 2;
    const arrow = { x: isAfter ? ' →' : '← ', y: isAfter ? ' ↓' : ' ↑' }[limit.axis];
    const text = !isOut ? limit.label : limit.axis === 'x' && !isAfter ? arrow + limit.label : limit.label + arrow;
    const edge = isOut ? (isAfter ? to : from) : at;
    const line =
      limit.axis === 'x' ? `M${px(at)} ${plot.top}V${plot.bottom}` : `M${plot.left} ${px(at)}H${px(plot.right)}`;
    const place =
      limit.axis === 'x'
        ? {
            x: isAfter ? edge - 5 : edge + 5,
            y: plot.top + 11 + LINE * rowOf(edge, isAfter, textWidth(text, TEXT)),
            'text-anchor': isAfter ? 'end' : 'start',
          }
        : { x: plot.left + 6, y: edge - plot.top < 16 ? edge + 13 : edge - 5, 'text-anchor': 'start' };
    return [
      ...(isOut ? [] : [node('path', { d: line, stroke: '@ink', 'stroke-width': 1.2, 'stroke-dasharray': '5 4' })]),
      node(
        'text',
        {
          ...place,
          fill: '@ink',
          stroke: '@ground',
          'stroke-width': 4,
          'stroke-linejoin': 'round',
          'paint-order': 'stroke',
        },
        fitted(text, TEXT, plot.right - plot.left - 12),
      ),
    ];
  });
}
