const [QUOTE, COMMA, LINE, RETURN] = [34, 44, 10, 13];
const [ZERO, POINT] = [48, 46];
const POWERS = Array.from({ length: 17 }, (_, power) => Number(`1e${power}`));
const utf8 = new TextDecoder();
/** One character for each byte, so that ASCII is cut out at the places of its bytes. */
const latin1 = new TextDecoder('latin1');

/**
 * Cells of a CSV by row and column.
 *
 * Only the bounds of the cells are kept, so that a file of millions of cells is read in tens of milliseconds; cells
 * become text when they are asked for.
 */
export class Csv {
  readonly names: string[];
  readonly rows: number;
  private readonly bytes: Uint8Array;
  private readonly text: string;
  private readonly isAscii: boolean;
  /** Begin of each cell, row by row; a cell ends one byte before the next begins. */
  private readonly starts: Uint32Array;
  private readonly columns = new Map<string, Float64Array>();

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.text = latin1.decode(bytes);
    const { starts, width, isAscii } = bounds(bytes);
    this.starts = starts;
    this.isAscii = isAscii;
    const cells = starts.length - 1;
    this.names = Array.from({ length: Math.min(width, cells) }, (_, cell) => this.cut(cell));
    this.rows = width > 0 ? Math.max(0, Math.floor(cells / width) - 1) : 0;
  }

  has(name: string): boolean {
    return this.names.includes(name);
  }

  /** Returns the text of a cell; empty where the column is missing. */
  cell(row: number, name: string): string {
    const column = this.names.indexOf(name);
    return column < 0 || row >= this.rows ? '' : this.cut(this.at(row, column));
  }

  /** Returns the first row whose cell is wanted, -1 if none is. */
  find(name: string, isWanted: (cell: string) => boolean): number {
    const column = this.names.indexOf(name);
    for (let row = 0; row < this.rows && column >= 0; row++) {
      if (isWanted(this.cut(this.at(row, column)))) return row;
    }
    return -1;
  }

  /** Returns a column as numbers, NaN where a cell is empty or no number; `undefined` where the column is missing. */
  numbers(name: string): Float64Array | undefined {
    const column = this.names.indexOf(name);
    if (column < 0) return undefined;
    let values = this.columns.get(name);
    if (!values) {
      values = Float64Array.from({ length: this.rows }, (_, row) => this.number(this.at(row, column)));
      this.columns.set(name, values);
    }
    return values;
  }

  /** Returns a column as texts. */
  texts(name: string): string[] {
    const column = this.names.indexOf(name);
    if (column < 0) return [];
    let [before, text] = [-1, ''];
    return Array.from({ length: this.rows }, (_, row) => {
      const cell = this.at(row, column);
      // Keys repeat from row to row.
      if (before < 0 || !this.isEqual(before, cell)) text = this.cut(cell);
      before = cell;
      return text;
    });
  }

  private at(row: number, column: number): number {
    return (row + 1) * this.names.length + column;
  }

  private bounds(cell: number): [number, number] {
    return [this.starts[cell] ?? 0, (this.starts[cell + 1] ?? 1) - 1];
  }

  private isEqual(one: number, other: number): boolean {
    const [from, to] = this.bounds(one);
    const [start, end] = this.bounds(other);
    if (to - from !== end - start) return false;
    for (let at = 0; at < to - from; at++) if (this.bytes[from + at] !== this.bytes[start + at]) return false;
    return true;
  }

  /** Returns a cell as a number. Plain decimals, which most are, are read without making them text. */
  private number(cell: number): number {
    const from = this.starts[cell] ?? 0;
    const to = (this.starts[cell + 1] ?? 1) - 1;
    // Up to 15 digits, both the digits and the power of ten are exact, and the division rounds once.
    if (to - from > 16 || to <= from) return asNumber(this.cut(cell));
    let [digits, decimals] = [0, -1];
    for (let at = from; at < to; at++) {
      const byte = this.bytes[at] ?? 0;
      if (byte >= ZERO && byte <= ZERO + 9) {
        digits = 10 * digits + byte - ZERO;
        if (decimals >= 0) decimals++;
      } else if (byte === POINT && decimals < 0 && at > from) decimals = 0;
      else return asNumber(this.cut(cell));
    }
    return decimals <= 0 ? digits : digits / (POWERS[decimals] ?? NaN);
  }

  private cut(cell: number): string {
    const [from, end] = this.bounds(cell);
    const to = this.bytes[end - 1] === RETURN && end > from ? end - 1 : end;
    if (to <= from) return '';
    const text = this.isAscii ? this.text.slice(from, to) : utf8.decode(this.bytes.subarray(from, to));
    return text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text;
  }
}

function asNumber(cell: string): number {
  return cell.trim() === '' ? NaN : Number(cell);
}

/** Returns the begins of the cells, with that after the last one, and the number of cells of the first line. */
function bounds(bytes: Uint8Array): { starts: Uint32Array; width: number; isAscii: boolean } {
  let starts = new Uint32Array(Math.max(16, bytes.length >> 2));
  let [count, width, begin] = [0, 0, 0];
  let isQuoted = false;
  let bits = 0;
  const end = (at: number): void => {
    if (count + 2 > starts.length) {
      const grown = new Uint32Array(starts.length * 2);
      grown.set(starts);
      starts = grown;
    }
    starts[count++] = begin;
    begin = at + 1;
  };
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    bits |= byte;
    // Digits and letters are behind the bytes that end a cell.
    if (byte > COMMA) continue;
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if ((byte === COMMA || byte === LINE) && !isQuoted) {
      end(at);
      if (byte === LINE && width === 0) width = count;
    }
  }
  // The last line may lack its line break, and its last cell may be empty.
  if (begin < bytes.length || bytes[begin - 1] === COMMA) end(bytes.length);
  starts[count] = begin;
  return { starts: starts.subarray(0, count + 1), width: width === 0 ? count : width, isAscii: bits < 0x80 };
}
