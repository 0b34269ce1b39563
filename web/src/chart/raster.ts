import { endOf, firstAfter, type Lanes } from './lanes.js';
import type { Domain } from './scale.js';
import type { TimelineSpec } from './spec.js';

/** The part of a timeline to draw and its size in pixels. */
export interface Window {
  x: Domain;
  /** Lanes, with fractions. */
  y: Domain;
  width: number;
  height: number;
  /** Phases that are left out. */
  hidden?: ReadonlySet<number> | undefined;
}

/** Share of each pixel of a row that each phase covers, for each of `lanes` lanes; `isSame` as in the row above. */
type Row = (y: number, cover: Float32Array[], lanes: number, isSame: boolean) => void;

/** Lanes of at least this many pixels have an empty one between them. */
const GAP_FROM = 4;

/** Calls `row` for each row of pixels. What is below the size of a pixel is summed. */
function rows(spec: TimelineSpec, { lanes }: Lanes, window: Window, row: Row): void {
  const cover = spec.phases.map(() => new Float32Array(window.width));
  const lanesPerPixel = (window.y[1] - window.y[0]) / window.height;
  let before: [number, number] = [-1, -1];
  for (let y = 0; y < window.height; y += 1) {
    const from = Math.floor(window.y[0] + y * lanesPerPixel);
    const to = Math.max(from + 1, Math.floor(window.y[0] + (y + 1) * lanesPerPixel));
    const isLast = Math.floor(window.y[0] + (y + 1) * lanesPerPixel) > from;
    if (isLast && lanesPerPixel * GAP_FROM <= 1) continue;
    const isSame = before[0] === from && before[1] === to;
    if (!isSame) {
      for (const one of cover) one.fill(0);
      for (const lane of lanes.slice(Math.max(0, from), to)) addLane(spec, lane, window, cover);
      before = [from, to];
    }
    row(y, cover, to - from, isSame);
  }
}

function addLane(spec: TimelineSpec, lane: Uint32Array, { x, width, hidden }: Window, cover: Float32Array[]): void {
  const scale = width / (x[1] - x[0]);
  for (let at = firstAfter(spec, lane, x[0]); at < lane.length; at += 1) {
    const request = lane[at]!;
    let from = (spec.starts[request]! - x[0]) * scale;
    if (from >= width) return;
    for (let phase = 0; phase < cover.length; phase += 1) {
      const to = ((spec.ends[phase]?.[request] ?? NaN) - x[0]) * scale;
      if (!Number.isFinite(to) || to <= from) continue;
      if (!hidden?.has(phase)) addSpan(cover[phase]!, Math.max(0, from), Math.min(width, to));
      from = to;
    }
  }
}

function addSpan(pixels: Float32Array, from: number, to: number): void {
  const [first, last] = [Math.floor(from), Math.min(pixels.length - 1, Math.floor(to))];
  if (first > last) return;
  if (first === last) {
    pixels[first]! += to - from;
    return;
  }
  pixels[first]! += first + 1 - from;
  for (let i = first + 1; i < last; i += 1) pixels[i]! += 1;
  pixels[last]! += to - last;
}

/** Returns the pixels of a timeline, four bytes each. A pixel mixes the colours of its phases by their time. */
export function raster(
  spec: TimelineSpec,
  lanes: Lanes,
  window: Window,
  colours: [number, number, number][],
): Uint8ClampedArray<ArrayBuffer> {
  const bytes = new Uint8ClampedArray(4 * window.width * window.height);
  const length = 4 * window.width;
  rows(spec, lanes, window, (y, cover, count, isSame) => {
    if (isSame) {
      bytes.copyWithin(y * length, (y - 1) * length, y * length);
      return;
    }
    for (let i = 0; i < window.width; i += 1) {
      let [red, green, blue, all] = [0, 0, 0, 0];
      for (let phase = 0; phase < cover.length; phase += 1) {
        const share = cover[phase]![i]!;
        if (share === 0) continue;
        const colour = colours[phase]!;
        red += share * colour[0];
        green += share * colour[1];
        blue += share * colour[2];
        all += share;
      }
      if (all === 0) continue;
      const at = y * length + 4 * i;
      bytes[at] = red / all;
      bytes[at + 1] = green / all;
      bytes[at + 2] = blue / all;
      bytes[at + 3] = (255 * all) / count;
    }
  });
  return bytes;
}

/** Returns the outline of the pixels in which each phase has the largest share, as a path from (0, 0). */
export function outlines(spec: TimelineSpec, lanes: Lanes, window: Window): string[] {
  const paths = spec.phases.map((): string[] => []);
  rows(spec, lanes, window, (y, cover) => {
    let start = 0;
    let before = -1;
    for (let i = 0; i <= window.width; i += 1) {
      const phase = i < window.width ? largest(cover, i) : -1;
      if (phase === before) continue;
      if (before >= 0) paths[before]?.push(`M${start} ${y}h${i - start}v1h${start - i}z`);
      [start, before] = [i, phase];
    }
  });
  return paths.map((parts) => parts.join(''));
}

function largest(cover: Float32Array[], pixel: number): number {
  let [best, most] = [-1, 0];
  cover.forEach((pixels, phase) => {
    const share = pixels[pixel] ?? 0;
    if (share > most) [best, most] = [phase, share];
  });
  return best;
}

/** Returns the request of a lane at a time, or the next one. */
export function requestAt(spec: TimelineSpec, lane: Uint32Array | undefined, time: number): number | undefined {
  if (lane === undefined || lane.length === 0) return undefined;
  const next = firstAfter(spec, lane, time);
  const [before, after] = [lane[next - 1], lane[next]];
  if (before === undefined || after === undefined) return before ?? after;
  return time - endOf(spec, before) < (spec.starts[after] as number) - time ? before : after;
}
