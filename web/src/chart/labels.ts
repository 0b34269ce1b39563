/** A label at the end of a line: where it points and, moved apart, where its text stands. */
export interface EndLabel {
  text: string;
  target: number;
  y: number;
}

/** Moves labels apart by at least `gap` within `[top, bottom]`, or returns undefined if there is no room. */
export function spread(
  labels: { text: string; target: number }[],
  gap: number,
  top: number,
  bottom: number,
): EndLabel[] | undefined {
  if ((labels.length - 1) * gap > bottom - top) return undefined;
  const sorted = labels.map((label) => ({ ...label, y: label.target })).sort((a, b) => a.target - b.target);
  let free = top;
  for (const label of sorted) {
    label.y = Math.max(label.y, free);
    free = label.y + gap;
  }
  let limit = bottom;
  for (const label of sorted.reverse()) {
    label.y = Math.min(label.y, limit);
    limit = label.y - gap;
  }
  return sorted;
}
