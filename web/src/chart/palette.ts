import type { Colour } from './spec.js';

/** Names of the colours of a drawing; `theme.css` has each as a variable, for light and for dark. */
export type Token = `c${0 | 1 | 2 | 3 | 4 | 5 | 6}` | 'muted' | 'bad' | 'ink' | 'faint' | 'grid' | 'ground';

/** Okabe and Ito's colours, darkened to a contrast of 3 on white; the light values of `theme.css`. */
export const LIGHT: Record<Token, string> = {
  c0: '#0072b2',
  c1: '#d55e00',
  c2: '#007a5a',
  c3: '#b8598f',
  c4: '#a67c00',
  c5: '#3c8fc4',
  c6: '#4a4a4a',
  muted: '#7d858c',
  bad: '#b3261e',
  ink: '#1b1f23',
  faint: '#59616a',
  grid: '#e3e6e9',
  ground: '#ffffff',
};

/** Number of colours that tell series apart. */
export const COLOURS = 7;

/** Divides series into those with a colour of their own and the others, which share one. */
export function coloured<T>(all: T[]): { own: T[]; others: T[] } {
  const own = all.length <= COLOURS ? all : all.slice(0, COLOURS - 1);
  return { own, others: all.slice(own.length) };
}

export function token(colour: Colour | undefined, position: number): Token {
  if (typeof colour === 'string') return colour;
  return `c${(colour ?? position) % COLOURS}` as Token;
}

/** Dashes of lines, by the position of their colour. */
const DASHES = ['', '7 3', '2 3', '10 3 2 3', '4 2', '12 4', '1 2'];

export function dash(token: Token): string {
  return token.startsWith('c') ? (DASHES[Number(token[1])] ?? '') : token === 'bad' ? '5 2' : '';
}

/** Outlines around (0, 0) with an area of about 4 r², by the position of their colour. */
const SHAPES: ((r: number) => string)[] = [
  (r) => `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  (r) => `m${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `m0 ${-1.3 * r}l${1.2 * r} ${2.2 * r}h${-2.4 * r}z`,
  (r) => `m0 ${-1.4 * r}l${1.4 * r} ${1.4 * r}l${-1.4 * r} ${1.4 * r}l${-1.4 * r} ${-1.4 * r}z`,
  (r) => `m0 ${1.3 * r}l${1.2 * r} ${-2.2 * r}h${-2.4 * r}z`,
  (r) =>
    `m${-r * 1.4} ${-r * 0.5}h${r * 0.9}v${-r * 0.9}h${r}v${r * 0.9}h${r * 0.9}v${r}` +
    `h${-r * 0.9}v${r * 0.9}h${-r}v${-r * 0.9}h${-r * 0.9}z`,
  (r) => `m${-r * 1.3} ${-r * 0.6}h${r * 2.6}v${r * 1.2}h${-r * 2.6}z`,
];

export function shape(token: Token, r: number): string {
  const at = token.startsWith('c') ? Number(token[1]) : token === 'bad' ? 3 : 0;
  return SHAPES[at]?.(r) ?? '';
}
