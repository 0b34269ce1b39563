import { ticks as tickValues, tickStep } from 'd3-array';
import { scaleLinear, scaleLog } from 'd3-scale';
import { fixed, number } from '../data/number.js';
import type { Axis } from './spec.js';

export type Domain = [number, number];

/** A mapping of values to pixels. */
export interface Scale {
  at: (value: number) => number;
  /** The pixel of an end of a mark; on a logarithmic axis, ends that are not positive are at the edge. */
  end: (value: number) => number;
  /** The value at a pixel. */
  of: (pixel: number) => number;
  domain: Domain;
  ticks: { value: number; text: string }[];
  /** Width of a category in px, 0 on a numeric axis. */
  band: number;
}

/** Text of a value on an axis. */
export function valueText(axis: Axis, value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (axis.scale === 'band') return axis.categories?.[value] ?? '';
  if (axis.format !== undefined) return axis.format(value);
  return Number.isInteger(value) ? fixed(value, 0) : number(value, axis.digits ?? 3);
}

/** Returns a value, or the least one that the axis shows. */
function atLeast({ least }: Axis, value: number): number {
  return least !== undefined && value < least ? least : value;
}

/** Smallest and largest of `values` that the axis can show, or undefined if there is none. */
export function extentOn(axis: Axis, values: Iterable<number>): Domain | undefined {
  let low = Infinity;
  let high = -Infinity;
  for (const given of values) {
    const value = atLeast(axis, given);
    if (!Number.isFinite(value) || (axis.scale === 'log' && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : undefined;
}

/** Makes a domain of no width wide enough to draw. */
function widened([low, high]: Domain, axis: Axis): Domain {
  if (low < high) return [low, high];
  if (axis.scale === 'log') return [low / 2, high * 2];
  return low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
}

/** The domain of an axis without zoom: rounded to ticks if `isPadded`. */
export function fullDomain(axis: Axis, extent: Domain, isPadded: boolean): Domain {
  if (axis.domain !== undefined) return widened(axis.domain, axis);
  const wide = widened(extent, axis);
  if (!isPadded) return wide;
  if (axis.scale === 'linear') return scaleLinear().domain(wide).nice(5).domain() as Domain;
  const margin = (wide[1] / wide[0]) ** 0.04;
  return [wide[0] / margin, wide[1] * margin];
}

export function numericScale(axis: Axis, domain: Domain, range: Domain, count: number): Scale {
  const isLog = axis.scale === 'log' && domain[0] > 0;
  const scale = (isLog ? scaleLog() : scaleLinear()).domain(domain).range(range);
  const values = isLog ? logTicks(domain, count) : tickValues(...domain, count);
  const step = tickStep(...domain, count);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const isShort = isLog || (places > 6 && Math.max(...domain.map(Math.abs)) < 100 * step);
  const text = (value: number) =>
    axis.format?.(value).replace(/\.0+(?!\d)/, '') ?? (isShort ? shortest(value) : fixed(value, places));
  return {
    at: (value) => (isLog && atLeast(axis, value) <= 0 ? NaN : scale(atLeast(axis, value))),
    end: (value) => scale(isLog && value <= 0 ? domain[0] : atLeast(axis, value)),
    of: (pixel) => scale.invert(pixel),
    domain,
    ticks: values.map((value) => ({ value, text: text(value) })),
    band: 0,
  };
}

function shortest(value: number): string {
  return Math.abs(value) >= 1e4 ? number(value, 2) : String(Number(value.toPrecision(3)));
}

/** Powers of ten, with 2 and 5 between them or evenly spaced values where there are few. */
function logTicks([low, high]: Domain, count: number): number[] {
  const decades: number[] = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1) decades.push(e);
  const of = (leading: number[]) =>
    decades.flatMap((e) => leading.map((digit) => Number(`${digit}e${e}`))).filter((v) => v >= low && v <= high);
  const candidates = [of([1, 2, 5]), of([1, 3]), of([1])];
  const fine = candidates[0] ?? [];
  if (fine.length < 3) return tickValues(low, high, Math.min(count, 4));
  const fitting = candidates.find((values) => values.length <= count + 2);
  if (fitting !== undefined && fitting.length >= 2) return fitting;
  const powers = candidates[2] ?? [];
  const every = Math.max(1, Math.ceil(powers.length / count));
  return powers.filter((_, i) => i % every === 0);
}

export function bandScale(categories: string[], range: Domain): Scale {
  const n = Math.max(1, categories.length);
  const band = (range[1] - range[0]) / n;
  const at = (value: number) => range[0] + (value + 0.5) * band;
  return {
    at,
    end: at,
    of: (pixel) => Math.max(0, Math.min(n - 1, Math.floor((pixel - range[0]) / band))),
    domain: [0, n - 1],
    ticks: categories.map((text, value) => ({ value, text })),
    band: Math.abs(band),
  };
}

/** Returns the domain of `[from, to]` px stretched by `factor` around `centre`. */
export function zoomed(scale: Scale, centre: number, [from, to]: Domain, factor: number): Domain {
  return [scale.of(centre + (from - centre) / factor), scale.of(centre + (to - centre) / factor)];
}

/** Returns the domain of a window as wide as `[from, to]` px around `centre`. */
export function centred(scale: Scale, centre: number, [from, to]: Domain): Domain {
  const half = (to - from) / 2;
  return [scale.of(centre - half), scale.of(centre + half)];
}

/** Returns a domain to zoom to: none where it is as wide as `full`, `before` where it is too narrow for values. */
export function limited([low, high]: Domain, full: Domain, before: Domain | undefined): Domain | undefined {
  const width = high - low;
  if (width >= (full[1] - full[0]) * (1 - 1e-9)) return undefined;
  return width > 1e-6 * Math.max(Math.abs(low), Math.abs(high)) ? [low, high] : before;
}
