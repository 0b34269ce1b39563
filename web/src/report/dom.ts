/** Elements of a report. Text is set as text, never as markup. */

export type Child = Node | string | undefined | false;

/** Returns an element with attributes and children. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

export function paragraph(...children: Child[]): HTMLElement {
  return h('p', {}, ...children);
}

/** Returns the sentence that answers what was asked. */
export function answer(sentence: string): HTMLElement {
  // A number stays on a line with its unit.
  return h('p', { class: 'answer' }, sentence.replace(/(\d) (?=%|ms\b|s\b|GPU|×)/g, '$1\u00a0'));
}

/** Returns the sentence in place of a figure: what is missing and how to get it. */
export function absent(what: string, how: string, command?: string): HTMLElement {
  return h(
    'p',
    { class: 'absent' },
    `${what} `,
    how,
    command !== undefined && h('code', {}, command),
    command !== undefined && '.',
  );
}

/** Returns remarks as a list; nothing where there are none. */
export function notes(remarks: string[]): HTMLElement | undefined {
  if (remarks.length === 0) return undefined;
  return h('ul', { class: 'notes' }, ...remarks.map((remark) => h('li', {}, remark)));
}

/** Returns a group of figures under a heading. */
export function group(title: string, ...children: Child[]): HTMLElement | undefined {
  const shown = children.filter((child) => child !== undefined && child !== false);
  if (shown.length === 0) return undefined;
  const made = h('section', { class: 'group' }, h('h3', {}, title), ...shown);
  // A caption that repeats the heading is for readers of the screen alone.
  for (const caption of made.querySelectorAll('caption'))
    if (caption.textContent === title) caption.className = 'for-readers';
  return made;
}

/** Returns content that is folded away, and made when it is first asked for. */
export function folded(title: string, content: () => HTMLElement): HTMLElement {
  const details = h('details', { class: 'folded' }, h('summary', {}, title));
  details.addEventListener('toggle', () => details.append(content()), { once: true });
  return details;
}

/** A fact: its label and its value; facts without a value are left out. */
export type Fact = [label: string, value: string | undefined | false];

/** Returns facts as a table of two columns. */
export function facts(caption: string, all: Fact[]): HTMLElement | undefined {
  const known = all.filter((fact): fact is [string, string] => typeof fact[1] === 'string' && fact[1] !== '');
  if (known.length === 0) return undefined;
  const rows = known.map(([label, value]) => h('tr', {}, h('th', { scope: 'row' }, label), h('td', {}, value)));
  return h('table', { class: 'facts' }, h('caption', {}, caption), h('tbody', {}, ...rows));
}

/** A number with its unit, a range of numbers, or nothing. */
const NUMBER = /^([-+<]?[\d_.]+(e[-+]?\d+)?( (%|s|ms))?( to [-\d_.]+( s)?)?|-|)$/;

/** Returns a short table with a header of its columns; the first cell of a row names the row. */
export function grid(caption: string, columns: string[], rows: string[][]): HTMLElement {
  const sides = columns.map((_, at) =>
    at > 0 && rows.every((row) => NUMBER.test(row[at] ?? '')) ? { class: 'number' } : {},
  );
  const head = h('tr', {}, ...columns.map((column, at) => h('th', { scope: 'col', ...sides[at] }, column)));
  const body = rows.map((row) => h('tr', {}, ...row.map((cell, at) =>
    at === 0 ? h('th', { scope: 'row' }, cell) : h('td', { ...sides[at] }, cell))));
  const table = h('table', { class: 'grid' }, h('caption', {}, caption), h('thead', {}, head), h('tbody', {}, ...body));
  return scrolled(caption, table);
}

/** Returns content that scrolls sideways on its own where it is wider than the page; keys reach it. */
export function scrolled(label: string, content: HTMLElement): HTMLElement {
  return h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': label }, content);
}

/** Returns a command with a button that copies it. */
export function command(words: string, label = 'Command that repeats this'): HTMLElement {
  // Lines break between words, not after the hyphens of a flag.
  const pieces = words.split(/(\s+)/).map((piece) => /^\s*$/.test(piece) ? piece : h('span', { class: 'word' }, piece));
  const code = h('code', {}, ...pieces);
  const said = h('span', { class: 'said', role: 'status' });
  const button = h('button', { type: 'button' }, 'Copy');
  button.setAttribute('aria-label', `Copy: ${label}`);
  button.addEventListener('click', async () => {
    said.textContent = (await copied(words, code)) ? 'Copied' : 'Selected: copy it with the keyboard';
  });
  const shown = h('pre', { tabindex: '0', role: 'group', 'aria-label': label }, code);
  return h('div', { class: 'command' }, h('p', {}, label), shown, h('div', { class: 'actions' }, button, said));
}

/** Copies `words`; where the browser does not allow it, selects them in `shown` and returns false. */
async function copied(words: string, shown: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shown);
    return false;
  }
}
