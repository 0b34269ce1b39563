import type { TimelineSpec } from './spec.js';

/** Returns a figure with one bar a request. */
export function timeline(spec: TimelineSpec): HTMLElement {
  throw new Error(spec.title);
}
