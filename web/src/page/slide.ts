/** Positions of sliders: a thousand, at equal ratios where the low end is positive, else at equal distances. */

export const POSITIONS = 1000;

export function positionOf(value: number, [low, high]: [number, number]): number {
  const share = low > 0 ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.round(Math.min(1, Math.max(0, share)) * POSITIONS);
}

/** Returns the value at a position, to two digits, or to three from 1,000 on. */
export function valueAt(position: number, [low, high]: [number, number], isWhole: boolean): number {
  const share = position / POSITIONS;
  const value = low > 0 ? low * (high / low) ** share : low + (high - low) * share;
  const rounded = Number(value.toPrecision(value >= 1000 ? 3 : 2));
  const within = Math.min(high, Math.max(low, rounded));
  return isWhole ? Math.round(within) : within;
}
