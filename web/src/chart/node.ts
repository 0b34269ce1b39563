import { LIGHT, type Token } from './palette.js';

/** An SVG element without a document. A colour `@c0` is a token of the palette. */
export interface Node {
  tag: string;
  attrs: Record<string, string | number>;
  children: (Node | string)[];
}

export function node(tag: string, attrs: Node['attrs'], ...children: Node['children']): Node {
  return { tag, attrs, children };
}

/** Rounds to a tenth of a pixel. */
export function px(value: number): number {
  return Math.round(value * 10) / 10;
}

function attribute(value: string | number, colour: (token: Token) => string): string {
  if (typeof value === 'number') return String(px(value));
  return value.startsWith('@') ? colour(value.slice(1) as Token) : value;
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  // Control characters are not allowed in XML.
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '').replace(/[&<>"]/g, (c) => ESCAPES[c] ?? c);
}

/** Returns a node as text, in light colours. */
export function toText({ tag, attrs, children }: Node): string {
  const pairs = Object.entries(attrs).map(
    ([name, value]) => ` ${name}="${escaped(attribute(value, (t) => LIGHT[t]))}"`,
  );
  const inner = children.map((child) => (typeof child === 'string' ? escaped(child) : toText(child))).join('');
  const open = `<${tag}${pairs.join('')}`;
  return (
    (inner === '' ? `${open}/>` : `${open}>${inner}</${tag}>`) +
    (tag === 'text' || tag === 'path' || tag === 'line' ? '\n' : '')
  );
}

/** Returns a node as an element, in the colours of the page. */
export function toDom({ tag, attrs, children }: Node): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attrs)) {
    element.setAttribute(name, attribute(value, (token) => `var(--${token})`));
  }
  element.append(...children.map((child) => (typeof child === 'string' ? child : toDom(child))));
  return element;
}
