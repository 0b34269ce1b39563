import type { Drawing } from './draw.js';
import type { Token } from './palette.js';

/** Returns the value of a colour in the theme that the page shows. */
export function themeColour(element: HTMLElement, token: Token): string {
  return getComputedStyle(element).getPropertyValue(`--${token}`).trim();
}

/** Sizes `canvas` for the pixels of the screen and returns its context in CSS pixels. */
export function context(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | undefined {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  const context = canvas.getContext('2d') ?? undefined;
  context?.scale(ratio, ratio);
  return context;
}

/** Draws dots that are too many for elements. */
export function paintDense(canvas: HTMLCanvasElement, figure: HTMLElement, drawing: Drawing, width: number, height: number): void {
  const ink = context(canvas, width, height);
  if (ink === undefined) return;
  const { left, right, top, bottom } = drawing.plot;
  ink.beginPath();
  ink.rect(left - 3, top - 3, right - left + 6, bottom - top + 3);
  ink.clip();
  ink.globalAlpha = 0.45;
  for (const { d, colour } of drawing.marks.dense) {
    ink.fillStyle = themeColour(figure, colour);
    ink.fill(new Path2D(d));
  }
}
