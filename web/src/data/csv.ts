/**
 * Cells of a CSV text by row and column.
 *
 * Only the bounds of the cells are kept, so that a text of a million cells is read in tens of milliseconds and cells are
 * cut out when they are asked for.
 */
export class Csv {
  readonly names: string[];
  readonly rows: number;
  private readonly text: string;
  /** Begin of each cell, row by row; a cell ends one character before the next begins. */
  private readonly starts: Uint32Array;
  private readonly columns = new Map<string, Float64Array>();

  constructor(text: string) {
    this.text = text;
    const [starts, width] = bounds(text);
    this.starts = starts;
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
    return column < 0 || row >= this.rows ? '' : this.cut((row + 1) * this.names.length + column);
  }

  /** Returns a column as numbers, NaN where a cell is empty or no number; `undefined` where the column is missing. */
  numbers(name: string): Float64Array | undefined {
    const column = this.names.indexOf(name);
    if (column < 0) return undefined;
    let values = this.columns.get(name);
    if (!values) {
      values = new Float64Array(this.rows);
      for (let row = 0; row < this.rows; row++) values[row] = this.number((row + 1) * this.names.length + column);
      this.columns.set(name, values);
    }
    return values;
  }

  /** Returns the first row whose cell is wanted, -1 if none is. */
  find(name: string, isWanted: (cell: string) => boolean): number {
    const column = this.names.indexOf(name);
    for (let row = 0; row < this.rows && column >= 0; row++) {
      if (isWanted(this.cut((row + 1) * this.names.length + column))) return row;
    }
    return -1;
  }

  /** Returns a column as texts. */
  texts(name: string): string[] {
    const column = this.names.indexOf(name);
    if (column < 0) return [];
    return Array.from({ length: this.rows }, (_, row) => this.cut((row + 1) * this.names.length + column));
  }

  /** Returns a cell as a number. Plain decimals, which most are, are read without cutting the cell out. */
  private number(cell: number): number {
    const [from, to] = [this.starts[cell] ?? 0, (this.starts[cell + 1] ?? 0) - 1];
    // Up to 15 digits, both the digits and the power of ten are exact, and the division rounds once.
    if (to - from > 16 || to <= from) return cellNumber(this.cut(cell));
    let [digits, decimals] = [0, -1];
    for (let at = from; at < to; at++) {
      const digit = this.text.charCodeAt(at) - ZERO;
      if (digit >= 0 && digit <= 9) {
        digits = 10 * digits + digit;
        if (decimals >= 0) decimals++;
      } else if (digit === POINT && decimals < 0 && at > from) decimals = 0;
      else return cellNumber(this.cut(cell));
    }
    return decimals <= 0 ? digits : digits / (POWERS[decimals] ?? NaN);
  }

  private cut(cell: number): string {
    const raw = this.text.slice(this.starts[cell], (this.starts[cell + 1] ?? 0) - 1);
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    return line.startsWith('"') ? line.slice(1, -1).replaceAll('""', '"') : line;
  }
}

const [QUOTE, COMMA, LINE] = [34, 44, 10];
const ZERO = 48;
/** The point, less the digit 0. */
const POINT = 46 - ZERO;
const POWERS = Array.from({ length: 17 }, (_, power) => Number(`1e${power}`));

function cellNumber(cell: string): number {
  return cell.trim() === '' ? NaN : Number(cell);
}

/** Returns the begins of the cells, with that after the last one, and the number of cells of the first line. */
function bounds(text: string): [Uint32Array, number] {
  let starts = new Uint32Array(Math.max(16, text.length >> 2));
  let [count, width, begin] = [0, 0, 0];
  let quoted = false;
  const end = (at: number): void => {
    if (count + 2 > starts.length) {
      const grown = new Uint32Array(starts.length * 2);
      grown.set(starts);
      starts = grown;
    }
    starts[count++] = begin;
    begin = at + 1;
  };
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) quoted = !quoted;
    else if (!quoted && (code === COMMA || code === LINE)) {
      end(at);
      if (code === LINE && width === 0) width = count;
    }
  }
  // The last line may lack its line break, and its last cell may be empty.
  if (begin < text.length || text.charCodeAt(begin - 1) === COMMA) end(text.length);
  if (width === 0) width = count;
  starts[count] = begin;
  return [starts.subarray(0, count + 1), width];
}
