/** Text of numbers, as the command prints them. */

const LARGE = 1e12;
const IN_SECONDS_MS = 10_000;

/** Separates thousands by `_`, from five digits on. */
function grouped(digits: string): string {
  const [, sign = '', whole = '', rest = ''] = /^(-?)(\d+)(.*)$/.exec(digits) ?? [];
  if (whole.length < 5) return digits;
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, '_') + rest;
}

/** Rounds like Rust: a value halfway between two goes to the even one, where `toFixed` goes away from 0. */
function rounded(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  const exact = value.toFixed(Math.min(decimals + 30, 100)).replace('.', '');
  const isTie = /^50*$/.test(exact.slice(exact.length - Math.min(30, 100 - decimals)));
  const isOdd = /[13579]$/.test(text);
  if (!isTie || !isOdd) return text;
  return (value - Math.sign(value) * 0.5 * 10 ** -decimals).toFixed(decimals);
}

/** Formats a number with `decimals` decimals, a very large one in scientific notation. */
export function fixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= LARGE) return value.toExponential(2).replace('e+', 'e');
  return grouped(rounded(value, Math.max(0, Math.min(decimals, 20))));
}

/** Decimals that show `significant` digits of `value`; those before the point are always shown. */
function decimals(value: number, significant: number): number {
  const size = Math.abs(value);
  if (size === 0 || !Number.isFinite(size)) return 0;
  const exponent = Number(size.toExponential(significant - 1).split('e')[1]);
  return Math.max(0, significant - 1 - exponent);
}

/** Formats a number with `significant` digits, or all those before the point. */
export function number(value: number, significant: number): string {
  const size = Math.abs(value);
  if (size > 0 && size < 1e-4) return value.toExponential(significant - 1);
  return fixed(value, decimals(value, significant));
}

/** Formats a figure with three digits and at most three decimals: predictions are not known better. */
export function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || size === 0) return fixed(value, 0);
  if (size >= 9.995) return fixed(value, 1);
  return fixed(value, size >= 0.9995 ? 2 : 3);
}

/** Formats a latency with its unit: milliseconds, from 10 s on seconds. */
export function latency(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  return ms >= IN_SECONDS_MS ? `${threeDigits(ms / 1e3)} s` : `${threeDigits(ms)} ms`;
}

/** Formats a share in percent, a small one with a decimal. */
export function percent(share: number): string {
  if (share > 0 && share < 0.05) return '<0.1 %';
  return `${fixed(share, share > 0 && share < 9.95 ? 1 : 0)} %`;
}

/** Formats a number of things: `1 step`, `2 steps`. */
export function plural(n: number, noun: string): string {
  return `${fixed(n, 0)} ${noun}${n === 1 ? '' : 's'}`;
}

/** Decimals that an error bar justifies: its first digit is the last one shown, the second if the first is 1. */
function justifiedDecimals(halfWidth: number): number | undefined {
  const size = Math.abs(halfWidth);
  if (!Number.isFinite(size) || size === 0) return undefined;
  const [mantissa = '', exponent] = size.toExponential(1).split('e');
  return Math.max(0, (mantissa.startsWith('1') ? 1 : 0) - Number(exponent));
}

/** Formats a value with the digits that its error bar justifies, without one with three: `23.1 ± 0.4`. */
export function withError(value: number, halfWidth: number): string {
  const decimals = justifiedDecimals(halfWidth);
  if (decimals === undefined) return threeDigits(value);
  return `${fixed(value, decimals)} ± ${fixed(Math.abs(halfWidth), decimals)}`;
}
