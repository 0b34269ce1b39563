import type { Box } from './draw.js';
import { node, px, type Node } from './node.js';
import type { Scale } from './scale.js';
import type { ChartSpec } from './spec.js';
import { fitted, LINE, TEXT, textWidth, wrapped } from './text.js';

/** Rows that the names of categories need below the axis. */
export function categoryRows(x: Scale): number {
  return Math.min(3, Math.max(1, ...x.ticks.map((tick) => wrapped(tick.text, TEXT, x.band - 6).length)));
}

/** The axes with their labels, ticks and grid. */
export function axes(spec: ChartSpec, plot: Box, x: Scale, y: Scale, width: number): Node[] {
  const nodes: Node[] = [];
  const grid = (d: string) => node('path', { d, stroke: '@grid', 'stroke-width': 1 });
  for (const tick of y.ticks) {
    const at = y.at(tick.value);
    if (y.band > 0 && tick.value % Math.ceil(15 / y.band) !== 0) continue;
    if (at < plot.top - 0.5 || at > plot.bottom + 0.5) continue;
    if (y.band === 0) nodes.push(grid(`M${plot.left} ${px(at)}H${px(plot.right)}`));
    nodes.push(
      node(
        'text',
        { x: plot.left - 8, y: at + 4.5, 'text-anchor': 'end', fill: '@faint' },
        fitted(tick.text, TEXT, plot.left - 8),
      ),
    );
  }
  nodes.push(...(x.band > 0 ? categoryTexts(plot, x) : tickTexts(plot, x, y.band > 0, width)));
  const axis =
    y.band > 0 ? `M${plot.left} ${plot.top}V${plot.bottom}` : `M${plot.left} ${plot.bottom}H${px(plot.right)}`;
  nodes.push(node('path', { d: axis, stroke: '@faint', 'stroke-width': 1 }));
  nodes.push(node('text', { x: 0, y: LINE - 4, fill: '@ink' }, fitted(spec.y.label, TEXT, width)));
  const middle = (plot.left + plot.right) / 2;
  const half = textWidth(spec.x.label, TEXT) / 2;
  const centre = Math.max(half, Math.min(middle, width - half));
  const rows = x.band > 0 ? categoryRows(x) : 1;
  nodes.push(
    node(
      'text',
      { x: centre, y: plot.bottom + 6 + LINE * (rows + 1), 'text-anchor': 'middle', fill: '@ink' },
      fitted(spec.x.label, TEXT, width),
    ),
  );
  return nodes;
}

/** Ticks and their texts below the plot; one that would touch the text before is left out. */
export function tickTexts(plot: Box, x: Scale, hasGrid: boolean, width: number): Node[] {
  let free = -Infinity;
  return x.ticks.flatMap((tick) => {
    const at = x.at(tick.value);
    const half = textWidth(tick.text, TEXT) / 2;
    const middle = Math.max(half, Math.min(at, width - half));
    if (at < plot.left - 0.5 || at > plot.right + 0.5 || middle - half < free) return [];
    free = middle + half + 8;
    const line = hasGrid ? `M${px(at)} ${plot.top}V${plot.bottom}` : `M${px(at)} ${plot.bottom}v5`;
    return [
      node('path', { d: line, stroke: hasGrid ? '@grid' : '@faint', 'stroke-width': 1 }),
      node('text', { x: middle, y: plot.bottom + LINE + 4, 'text-anchor': 'middle', fill: '@faint' }, tick.text),
    ];
  });
}

/** Names of categories below the axis, of every second or third where they are too many. */
function categoryTexts(plot: Box, x: Scale): Node[] {
  const every = Math.ceil(34 / Math.max(1, x.band));
  return x.ticks
    .filter((_, i) => i % every === 0)
    .flatMap((tick) => {
      const lines = every > 1 ? [tick.text] : wrapped(tick.text, TEXT, x.band - 6).slice(0, 3);
      return lines.map((line, row) =>
        node(
          'text',
          {
            x: x.at(tick.value),
            y: plot.bottom + LINE + 4 + row * (LINE - 1),
            'text-anchor': 'middle',
            fill: '@faint',
          },
          fitted(line, TEXT, x.band * every - 4),
        ),
      );
    });
}
