import { button, element } from './element.js';
import { fixed } from './number.js';
import { csvLine } from './save.js';

export const PAGE = 50;

export interface Column {
  name: string;
  /** Numbers are right-aligned. */
  isNumber: boolean;
  /** The value of row `row`, for sorting and for CSV. */
  value: (row: number) => number | string | undefined;
  /** The value as it is shown. */
  text: (row: number) => string;
}

/** Returns a table with `rows` rows, 50 a page; the button in a header sorts by its column. */
export function table(caption: string, columns: Column[], rows: number): HTMLElement {
  const order = Uint32Array.from({ length: rows }, (_, i) => i);
  const pages = Math.max(1, Math.ceil(rows / PAGE));
  let page = 0;
  let sorted: { column: number; sign: 1 | -1 } | undefined;

  const body = element('tbody', '');
  const state = element('span', 'page');
  state.setAttribute('aria-live', 'polite');
  const go = (to: number) => {
    page = Math.max(0, Math.min(pages - 1, to));
    show();
  };
  const moves = [
    button('First', () => go(0), 'First page'),
    button('Previous', () => go(page - 1), 'Previous page'),
    button('Next', () => go(page + 1), 'Next page'),
    button('Last', () => go(pages - 1), 'Last page'),
  ];
  const headers = columns.map((column, i) => {
    const header = element('th', column.isNumber ? 'number' : '', button(column.name, () => sort(i)));
    header.scope = 'col';
    return header;
  });

  function sort(column: number): void {
    const sign = sorted?.column === column && sorted.sign === 1 ? -1 : 1;
    sorted = { column, sign };
    const value = columns[column]?.value ?? (() => undefined);
    order.sort((a, b) => sign * compared(value(a), value(b)) || a - b);
    headers.forEach((header, i) => {
      if (i === column) header.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
      else header.removeAttribute('aria-sort');
    });
    go(0);
  }

  function show(): void {
    const from = page * PAGE;
    body.replaceChildren(...[...order.subarray(from, from + PAGE)].map(rowElement));
    state.textContent = `Rows ${fixed(Math.min(from + 1, rows), 0)} to ${fixed(Math.min(from + PAGE, rows), 0)} of ${fixed(rows, 0)}`;
    moves.forEach((move, i) => move.setAttribute('aria-disabled', String(i < 2 ? page === 0 : page === pages - 1)));
  }

  function rowElement(row: number): HTMLElement {
    const cells = columns.map((column, i) => {
      const cell = element(i === 0 ? 'th' : 'td', column.isNumber ? 'number' : '', column.text(row));
      if (i === 0) cell.scope = 'row';
      return cell;
    });
    return element('tr', '', ...cells);
  }

  const grid = element('table', '', element('caption', 'for-readers', caption), element('thead', '', element('tr', '', ...headers)), body);
  const scroll = element('div', 'scroll', grid);
  // A group that scrolls has to be reachable by keys.
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'group');
  scroll.setAttribute('aria-label', caption);
  const pager = element('div', 'pager', ...moves, state);
  pager.hidden = pages === 1;
  show();
  return element('div', 'table', scroll, pager);
}

/** Orders numbers before text and missing values last. */
function compared(a: number | string | undefined, b: number | string | undefined): number {
  const rank = (value: typeof a) => (typeof value === 'number' && !Number.isNaN(value) ? 0 : typeof value === 'string' ? 1 : 2);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  return a === b || a === undefined || b === undefined ? 0 : a < b ? -1 : 1;
}

/** Returns all rows as CSV, with all digits. */
export function csv(columns: Column[], rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => csvLine(columns.map((column) => column.value(row))));
  return csvLine(columns.map((column) => column.name)) + lines.join('');
}
