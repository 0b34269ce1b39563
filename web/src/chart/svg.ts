import type { ChartSpec } from './spec.js';

/** Returns `spec` as an SVG document of `width` px in light colours. */
export function toSvg(spec: ChartSpec, width: number): string {
  throw new Error(`${spec.title} ${width}`);
}
