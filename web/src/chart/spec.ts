/** What a chart shows: data only, so that the same specification is drawn in a page, into a file and in tests. */

/** One of seven colours that differ without colour vision, grey for context, or red for what fails. */
export type Colour = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 'muted' | 'bad';

export interface Axis {
  /** Quantity and unit: `TPOT (ms)`. */
  label: string;
  /** The values of a `band` axis are indices into `categories`. */
  scale: 'linear' | 'log' | 'band';
  categories?: string[];
  /** By default, the extent of the values; a linear axis with bars or areas includes 0. */
  domain?: [number, number];
  /** Values below are drawn at this one, the edge of the axis. */
  least?: number;
  /** Significant digits of values, 3 by default. */
  digits?: number;
  /** Text of a value, for ticks, the readout and the table. */
  format?: (value: number) => string;
}

export interface Point {
  x: number;
  /** A value that is not finite interrupts a line. */
  y: number;
  /** Ends of the interval around `y`: a band around lines, a whisker on dots and bars. */
  low?: number;
  high?: number;
  /** Right edge of a bar or a step on a numeric axis. */
  to?: number;
  /** Name of the point, for the readout and the table. */
  label?: string;
  /** Text beside the point of a line or a dot, where there is room and the series has at most twelve points. */
  tag?: string;
  /** More about the point, for the readout. */
  note?: string;
}

/**
 * `line`, `steps` (constant until the next x), `dots`, `bars` (beside each other on a `band` axis, horizontal if that
 * is y), `stack` (bars on a `band` axis, else step areas), `area` (steps filled down to 0).
 */
export type Mark = 'line' | 'steps' | 'dots' | 'bars' | 'stack' | 'area';

export interface Series {
  name: string;
  mark: Mark;
  points: Point[];
  /** By default, the position of the series. Dashes and shapes go with it. */
  colour?: Colour;
}

/** A straight line at a value, with its label. */
export interface Limit {
  axis: 'x' | 'y';
  value: number;
  label: string;
}

export interface ChartSpec {
  /** The finding, or the quantity with its unit. */
  title: string;
  note?: string;
  x: Axis;
  y: Axis;
  series: Series[];
  limits?: Limit[];
  /** Height of the plot with its axes in px, 320 by default. */
  height?: number;
}

/** A part of each request's time, such as its prefill. */
export interface Phase {
  name: string;
  colour: Colour;
}

/** Requests as bars over time, in columns: number `i` of each belongs to request `i`. */
export interface TimelineSpec {
  title: string;
  note?: string;
  /** Label and format of the time axis, which is linear. */
  x: Pick<Axis, 'label' | 'format' | 'domain'>;
  phases: Phase[];
  starts: ArrayLike<number>;
  /** Ends of phases, a column each. A phase begins where the one before ends; without a finite end it has no length. */
  ends: ArrayLike<number>[];
  /** Index into `groups` of each request. Requests of a group, such as a replica, share lanes. */
  group?: ArrayLike<number>;
  groups?: string[];
  /** Name of a request, for the readout and the table. */
  label: (request: number) => string;
  detail?: (request: number) => string;
  height?: number;
}
