/** Classes of the origin of a time. */
import type { Colour, Point, Series } from '../chart/index.js';
import { num, text, type Json } from '../data/json.js';

/** Classes of origin in the order of their certainty, each with its colour. */
const CLASSES = ['measured', 'interpolated', 'smoothed', 'transferred', 'bound', 'fitted'];
const CLASS_COLOURS: Colour[] = [2, 0, 4, 3, 6, 1];

/** Returns where a part's time comes from. */
export function sourceOf(part: Json): string {
  const looked = text(part, 'class');
  const isFitted = (num(part, 'fitted_share') ?? 0) > 0;
  if (looked !== undefined) return isFitted ? `${looked}, partly fitted` : looked;
  return isFitted ? 'fitted' : 'unknown';
}

/** Returns the class that the colour stands for. */
const classOf = (source: string): string => source.split(',')[0] ?? source;

/** Returns a series for each class of origin that occurs. */
export function byClass<Row>(
  rows: Row[],
  source: (row: Row) => string,
  mark: Series['mark'],
  point: (row: Row) => Point,
): Series[] {
  const found = [...new Set(rows.map((row) => classOf(source(row))))];
  found.sort((a, b) => CLASSES.indexOf(a) - CLASSES.indexOf(b));
  return found.map((of) => ({
    name: of,
    mark,
    colour: CLASS_COLOURS[CLASSES.indexOf(of)] ?? 'muted',
    points: rows.filter((row) => classOf(source(row)) === of).map(point),
  }));
}
