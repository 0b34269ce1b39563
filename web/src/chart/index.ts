export type { Axis, ChartSpec, Colour, Limit, Mark, Phase, Point, Series, TimelineSpec } from './spec.js';
export { chart } from './chart.js';
export { COLOURS, coloured } from './palette.js';
export { linked } from './linked.js';
export { toSvg } from './svg.js';
export { timeline } from './timeline.js';
