import type { Drawing } from './draw.js';
import type { Lanes } from './lanes.js';
import { token, type Token } from './palette.js';
import { raster } from './raster.js';
import type { TimelineSpec } from './spec.js';
import type { TimelineDrawing } from './timeline-draw.js';

/** Returns the value of a colour in the theme that the page shows. */
export function themeColour(element: HTMLElement, token: Token): string {
  return getComputedStyle(element).getPropertyValue(`--${token}`).trim();
}

/** Sizes `canvas` for the pixels of the screen and returns its context in CSS pixels. */
export function context(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | undefined {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  const context = canvas.getContext('2d') ?? undefined;
  context?.scale(ratio, ratio);
  return context;
}

/** Draws dots that are too many for elements. */
export function paintDense(
  canvas: HTMLCanvasElement,
  figure: HTMLElement,
  drawing: Drawing,
  width: number,
  height: number,
): void {
  const ink = context(canvas, width, height);
  if (ink === undefined) return;
  const { left, right, top, bottom } = drawing.plot;
  ink.beginPath();
  ink.rect(left - 3, top - 3, right - left + 6, bottom - top + 3);
  ink.clip();
  for (const { d, colour, opacity } of drawing.marks.dense) {
    ink.globalAlpha = opacity;
    ink.fillStyle = themeColour(figure, colour);
    ink.fill(new Path2D(d));
  }
}

/** Draws the bars of a timeline at the resolution of the screen. */
export function paintTimeline(
  canvas: HTMLCanvasElement,
  figure: HTMLElement,
  spec: TimelineSpec,
  lanes: Lanes,
  drawing: TimelineDrawing,
  { width, hidden }: { width: number; hidden: ReadonlySet<number> },
): void {
  const ink = context(canvas, width, drawing.height);
  if (ink === undefined) return;
  const ratio = window.devicePixelRatio || 1;
  const { left, right, top, bottom } = drawing.plot;
  const pixels = (length: number) => Math.max(1, Math.round(length * ratio));
  const size = { width: pixels(right - left), height: pixels(bottom - top) };
  const colours = spec.phases.map((phase, i) => channels(themeColour(figure, token(phase.colour, i))));
  const bytes = raster(spec, lanes, { x: drawing.x.domain, y: drawing.y.domain, ...size, hidden }, colours);
  ink.putImageData(new ImageData(bytes, size.width, size.height), Math.round(left * ratio), Math.round(top * ratio));
}

/** Returns red, green and blue of a colour `#rrggbb`. */
function channels(colour: string): [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16) || 0;
  return [value >> 16, (value >> 8) & 255, value & 255];
}
