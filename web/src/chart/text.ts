/** Width of text without a browser, so that a chart has one layout everywhere. */

/** Size of text in a chart, in px. */
export const TEXT = 13;
/** Height of a line of it. */
export const LINE = 16;

const NARROW = new Set("iljtfrI.,:;'|!()[] -");
const WIDE = new Set('mwMWGOQD@%—');

/** Returns about the width of `text` at `size` px of a sans-serif font, rather too much. */
export function textWidth(text: string, size: number): number {
  let em = 0;
  for (const c of text) {
    if (NARROW.has(c)) em += 0.36;
    else if (WIDE.has(c)) em += 0.92;
    else if (c >= 'A' && c <= 'Z') em += 0.7;
    else em += c.charCodeAt(0) > 0x2e80 ? 1 : 0.61;
  }
  return em * size;
}

/** Shortens `text` to `width`. */
export function fitted(text: string, size: number, width: number): string {
  if (textWidth(text, size) <= width) return text;
  let end = text.length;
  while (end > 1 && textWidth(`${text.slice(0, end)}…`, size) > width) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** Breaks `text` at spaces into lines of at most `width`, where words allow. */
export function wrapped(text: string, size: number, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && textWidth(`${line} ${word}`, size) > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
