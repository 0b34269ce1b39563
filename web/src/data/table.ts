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
    order.sort((a, b) => compared(value(a), value(b), sign) || a - b);
    headers.forEach((header, i) => {
      if (i === column) header.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
      else header.removeAttribute('aria-sort');
    });
    go(0);
  }

  function show(): void {
    const from = page * PAGE;
    body.replaceChildren(...[...order.subarray(from, from + PAGE)].map(rowElement));
    const [first, last] = [Math.min(from + 1, rows), Math.min(from + PAGE, rows)];
    state.textContent = `Rows ${fixed(first, 0)} to ${fixed(last, 0)} of ${fixed(rows, 0)}`;
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

  const grid = element(
    'table',
    '',
    element('caption', 'for-readers', caption),
    element('thead', '', element('tr', '', ...headers)),
    body,
  );
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

type Cell = ReturnType<Column['value']>;

/** Orders numbers before text, upwards or downwards by `sign`, and missing values last in both. */
function compared(a: Cell, b: Cell, sign: 1 | -1): number {
  const isMissing = (cell: Cell): boolean => cell === undefined || cell === '' || Number.isNaN(cell);
  if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
  if (typeof a !== typeof b) return sign * (typeof a === 'number' ? -1 : 1);
  return a === b || a === undefined || b === undefined ? 0 : sign * (a < b ? -1 : 1);
}

/** Returns all rows as CSV, with all digits. */
export function csv(columns: Column[], rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => csvLine(columns.map((column) => column.value(row))));
  return csvLine(columns.map((column) => column.name)) + lines.join('');
}
