import type { Margins } from './linked.js';
import { ends, isHorizontal, type Bases } from './place.js';
import { extentOn, fullDomain, type Domain } from './scale.js';
import type { Axis, ChartSpec, Series } from './spec.js';

/** The part of a chart that is shown. */
export interface View {
  width: number;
  height: number;
  /** Zoomed domains. */
  x?: Domain | undefined;
  y?: Domain | undefined;
  /** Least margins, which align the plot with others. */
  margins?: Margins;
  hidden: ReadonlySet<number>;
}

const FROM_ZERO = new Set(['bars', 'stack', 'area']);

/** A limit further from the values than this many times their extent is named at the edge instead. */
const FAR = 2.5;

/** Returns the domain of an axis of numbers without zoom. */
export function domainOf(spec: ChartSpec, which: 'x' | 'y', series: Series[], bases: Bases): Domain {
  const axis = spec[which];
  const isValues = (which === 'x') === isHorizontal(spec);
  const extent = extentOn(axis, isValues ? valuesOf(spec, series, bases) : positionsOf(series, which)) ?? [0, 1];
  const [low, high] = isValues && axis.scale === 'linear' ? fromZero(extent, series) : extent;
  const limits = (spec.limits ?? []).filter((limit) => limit.axis === which).map((limit) => limit.value);
  const near = limits.filter((value) => isNear(axis, value, [low, high]));
  const whole = extentOn(axis, [low, high, ...near]) ?? [low, high];
  return fullDomain(axis, whole, isValues || series.every((one) => one.mark === 'dots'));
}

function* positionsOf(series: Series[], which: 'x' | 'y'): Iterable<number> {
  for (const one of series) {
    for (const point of one.points) {
      yield point[which];
      if (which === 'x' && point.to !== undefined) yield point.to;
    }
  }
}

function* valuesOf(spec: ChartSpec, series: Series[], bases: Bases): Iterable<number> {
  for (const one of series) {
    for (const point of one.points) {
      yield ends(spec, one, point, bases)[1];
      if (point.low !== undefined) yield point.low;
      if (point.high !== undefined) yield point.high;
    }
  }
}

/** Includes 0 for marks whose length is read, and for lines near it. */
function fromZero([low, high]: Domain, series: Series[]): Domain {
  const isLength = series.some((one) => FROM_ZERO.has(one.mark));
  const isNear = series.some((one) => one.mark !== 'dots') && low > 0 && low < high / 2;
  return isLength || isNear ? [Math.min(0, low), Math.max(0, high)] : [low, high];
}

function isNear(axis: Axis, value: number, [low, high]: Domain): boolean {
  if (axis.scale === 'log') return value >= low / 10 && value <= high * 10;
  const size = high - low || Math.abs(high);
  return value >= low - FAR * size && value <= high + FAR * size;
}
