import { tickTexts } from './axes.js';
import type { Box } from './draw.js';
import type { Lanes } from './lanes.js';
import type { Margins } from './linked.js';
import { node, type Node } from './node.js';
import { token } from './palette.js';
import { outlines } from './raster.js';
import { numericScale, type Domain, type Scale } from './scale.js';
import type { TimelineSpec } from './spec.js';
import { header, page } from './svg.js';
import { fitted, TEXT, textWidth } from './text.js';

export interface TimelineView {
  width: number;
  x: Domain;
  /** Lanes that are shown. */
  y: Domain;
  margins?: Margins;
  /** Phases that are left out. */
  hidden?: ReadonlySet<number>;
}

/** The axes of a timeline; its bars are pixels. */
export interface TimelineDrawing {
  axes: Node[];
  plot: Box;
  x: Scale;
  y: Scale;
  height: number;
  margins: Margins;
}

const MAX_LANE = 16;
const BELOW = 44;

export function drawTimeline(spec: TimelineSpec, lanes: Lanes, view: TimelineView): TimelineDrawing {
  const height = Math.min(spec.height ?? 340, Math.max(1, lanes.lanes.length) * MAX_LANE + BELOW + 4);
  const names = lanes.groups.map((group) => textWidth(group.name, TEXT));
  const ownLeft = Math.ceil(Math.min(Math.max(0, ...names), view.width * 0.3)) + 10;
  const plot = {
    left: Math.max(ownLeft, view.margins?.left ?? 0),
    right: view.width - Math.max(14, view.margins?.right ?? 0),
    top: 4,
    bottom: height - BELOW,
  };
  const axis = { ...spec.x, scale: 'linear' as const };
  const x = numericScale(axis, view.x, [plot.left, plot.right], Math.max(2, Math.round((plot.right - plot.left) / 90)));
  const y = numericScale({ label: '', scale: 'linear' }, view.y, [plot.top, plot.bottom], 2);
  const middle = (plot.left + plot.right) / 2;
  const axes = [
    ...groupTexts(lanes, plot, y),
    ...tickTexts(plot, x, false, view.width),
    node('path', { d: `M${plot.left} ${plot.bottom}H${plot.right}`, stroke: '@faint', 'stroke-width': 1 }),
    node('text', { x: middle, y: height - 6, 'text-anchor': 'middle', fill: '@ink' }, spec.x.label),
  ];
  return { axes, plot, x, y, height, margins: { left: ownLeft, right: 14 } };
}

/** Names of groups beside the middle of their visible lanes. */
function groupTexts(lanes: Lanes, plot: Box, y: Scale): Node[] {
  let free = -Infinity;
  return lanes.groups.flatMap((group) => {
    const from = Math.max(plot.top, y.at(group.first));
    const to = Math.min(plot.bottom, y.at(group.first + group.count));
    const middle = (from + to) / 2;
    if (to <= from || middle - 8 < free) return [];
    free = middle + 8;
    return [
      node(
        'text',
        { x: plot.left - 8, y: middle + 4.5, 'text-anchor': 'end', fill: '@faint' },
        fitted(group.name, TEXT, plot.left - 8),
      ),
    ];
  });
}

/** Returns a timeline as an SVG document. A pixel has the colour of the phase with the largest share of it. */
export function timelineSvg(
  spec: TimelineSpec,
  lanes: Lanes,
  width: number,
  view: Omit<TimelineView, 'width'>,
): string {
  const drawing = drawTimeline(spec, lanes, { ...view, width: width - 24 });
  const { plot } = drawing;
  const window = {
    x: view.x,
    y: view.y,
    width: Math.floor(plot.right - plot.left),
    height: Math.floor(plot.bottom - plot.top),
    hidden: view.hidden,
  };
  const bars = outlines(spec, lanes, window).map((d, i) =>
    node('path', { d, fill: `@${token(spec.phases[i]?.colour, i)}` }),
  );
  const shown = spec.phases.filter((_, i) => view.hidden?.has(i) !== true);
  const entries = shown.map((phase) => ({
    name: phase.name,
    mark: 'bars' as const,
    points: [],
    colour: phase.colour,
  }));
  const head = header(spec, entries, width - 24);
  return page(spec.title, width, head.height + drawing.height + 12, [
    node('g', { transform: 'translate(12 0)' }, ...head.nodes),
    node(
      'g',
      { transform: `translate(12 ${head.height})` },
      node('g', { transform: `translate(${plot.left} ${plot.top})` }, ...bars),
      ...drawing.axes,
    ),
  ]);
}
