/** Texts beside points, where they cover nothing. */
import type { Box } from './draw.js';
import { node, type Node } from './node.js';
import type { Placed } from './place.js';
import type { ChartSpec, Point } from './spec.js';
import { textWidth } from './text.js';

const SIZE = 11;
/** Height of capitals and digits of the text. */
const HEIGHT = 9;
/** Distance of a text from the middle of its point. */
const APART = 6;
/** Points of a series beyond which it has no texts. */
const MAX_POINTS = 12;

/** Returns the texts of points in view; one that would cover another text or a point of a short series is left out. */
export function tags(spec: ChartSpec, plot: Box, places: Placed[]): Node[] {
  const points = ({ series }: Placed): Point[] => spec.series[series]?.points ?? [];
  const few = places.filter((place) => points(place).length <= MAX_POINTS);
  const taken = few.map(({ x, y }): Box => ({ left: x - 4, right: x + 4, top: y - 4, bottom: y + 4 }));
  return few.flatMap((place) => {
    const text = points(place)[place.index]?.tag;
    if (text === undefined) return [];
    const box = around(place, textWidth(text, SIZE)).find(
      (it) => isWithin(it, plot) && taken.every((other) => !isOver(it, other)),
    );
    if (!box) return [];
    taken.push(box);
    const halo = { stroke: '@ground', 'stroke-width': 3, 'stroke-linejoin': 'round', 'paint-order': 'stroke' };
    return [node('text', { x: box.left, y: box.bottom, 'font-size': SIZE, fill: '@ink', ...halo }, text)];
  });
}

/** Returns the places for a text around a point, the best first: those beside a falling line. */
function around({ x, y }: Placed, width: number): Box[] {
  const at = (left: number, top: number): Box => ({ left, right: left + width, top, bottom: top + HEIGHT });
  const [right, left, above, below] = [x + APART, x - APART - width, y - APART - HEIGHT, y + APART];
  return [
    at(right, above + 3), at(left, below - 3),
    at(x - width / 2, above), at(x - width / 2, below),
    at(right, below - 3), at(left, above + 3),
  ];
}

const isWithin = (box: Box, plot: Box): boolean =>
  box.left >= plot.left && box.right <= plot.right && box.top >= plot.top && box.bottom <= plot.bottom;

const isOver = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
