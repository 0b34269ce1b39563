import { draw, heightOf, type Drawing } from './draw.js';
import type { View } from './frame.js';
import { node, px, toText, type Node } from './node.js';
import { dash, shape, token } from './palette.js';
import type { ChartSpec, Colour, Series } from './spec.js';
import { TEXT, textWidth, wrapped } from './text.js';

const MARGIN = 12;
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

/** Returns `spec` as an SVG document of `width` px in light colours. */
export function toSvg(spec: ChartSpec, width: number, view: Partial<View> = {}): string {
  const inner = width - 2 * MARGIN;
  const height = heightOf(spec);
  const hidden = view.hidden ?? new Set<number>();
  const drawing = draw(spec, { ...view, width: inner, height, hidden });
  const named =
    drawing.isLabelled || spec.series.length < 2 ? [] : withColours(spec.series).filter((_, i) => !hidden.has(i));
  const head = header(spec, named, inner);
  return page(spec.title, width, head.height + height + MARGIN, [
    node('g', { transform: `translate(${MARGIN} 0)` }, ...head.nodes),
    node('g', { transform: `translate(${MARGIN} ${head.height})` }, ...layers(drawing)),
  ]);
}

/** Wraps nodes into a document with its title. */
export function page(title: string, width: number, height: number, nodes: Node[]): string {
  const attrs = {
    xmlns: 'http://www.w3.org/2000/svg',
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'font-family': FONT,
    'font-size': TEXT,
  };
  const ground = node('rect', { width, height, fill: '@ground' });
  return `${toText(node('svg', attrs, node('title', {}, title), ground, ...nodes))}\n`;
}

/** The nodes of a drawing from the lowest to the highest; the data is cut at the plot. */
export function layers({ below, marks, above, plot }: Drawing): Node[] {
  const dense = marks.dense.map(({ d, colour, opacity }) =>
    node('path', { d, fill: `@${colour}`, 'fill-opacity': String(opacity) }),
  );
  return [...below, clipped(plot, [...dense, ...marks.nodes]), ...above];
}

/** Cuts `nodes` at the plot. Marks at its edge keep their half outside. */
export function clipped(plot: Drawing['plot'], nodes: Node[]): Node {
  const [x, y] = [plot.left - 5, plot.top - 5];
  const [width, height] = [plot.right - plot.left + 10, plot.bottom - plot.top + 5];
  return node('svg', { x, y, width, height, viewBox: `${px(x)} ${px(y)} ${px(width)} ${px(height)}` }, ...nodes);
}

function withColours(series: Series[]): Series[] {
  return series.map((one, i) => ({ ...one, colour: one.colour ?? ((i % 7) as Colour) }));
}

/** Draws the title, the note and a legend of `entries`. */
export function header(
  spec: Pick<ChartSpec, 'title' | 'note'>,
  entries: Series[],
  width: number,
): { nodes: Node[]; height: number } {
  const nodes: Node[] = [];
  let y = 26;
  const lines = (text: string, size: number, attrs: Node['attrs']) => {
    // Bold text is wider.
    const room = 'font-weight' in attrs ? width * 0.9 : width;
    for (const line of wrapped(text, size, room)) {
      nodes.push(node('text', { x: 0, y, 'font-size': size, ...attrs }, line));
      y += size + 5;
    }
  };
  lines(spec.title, 16, { fill: '@ink', 'font-weight': 600 });
  if (spec.note !== undefined) lines(spec.note, TEXT, { fill: '@faint' });
  let x = 0;
  for (const entry of entries) {
    const size = 34 + textWidth(entry.name, TEXT) + 14;
    if (x > 0 && x + size > width) [x, y] = [0, y + 20];
    nodes.push(node('g', { transform: `translate(${px(x)} ${y - 4})` }, ...swatch(entry, 0)));
    nodes.push(node('text', { x: x + 30, y, fill: '@ink' }, entry.name));
    x += size;
  }
  return { nodes, height: y + (entries.length > 0 ? 12 : -8) };
}

/** A sample of the mark of a series, 24 px wide around y = 0. */
export function swatch(series: Series, position: number): Node[] {
  const colour = token(series.colour, position);
  const fill = `@${colour}`;
  const dashes = dash(colour);
  const line = node('path', {
    d: 'M0 0H24',
    stroke: fill,
    'stroke-width': 2,
    ...(dashes && { 'stroke-dasharray': dashes }),
  });
  switch (series.mark) {
    case 'dots':
      return [node('path', { d: `M12 0${shape(colour, 4.2)}`, fill })];
    case 'line':
      return [line, node('path', { d: `M12 0${shape(colour, 3.2)}`, fill })];
    case 'steps':
      return [line];
    default:
      return [node('path', { d: 'M5 -6h14v12h-14z', fill, 'fill-opacity': '0.85' })];
  }
}
