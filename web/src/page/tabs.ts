/** Tabs over places: one is in view, and arrow keys move between them. */
import { h } from '../report/dom.js';
import type { Place } from './place.js';

/** Returns the row of tabs. The first place is in view. */
export function tabs(places: Place[]): HTMLElement {
  const select = (at: number): void => {
    for (const [index, place] of places.entries()) {
      place.element.hidden = index !== at;
      place.tab.setAttribute('aria-selected', String(index === at));
      place.tab.tabIndex = index === at ? 0 : -1;
    }
    places[at]?.draw();
  };
  const row = h('div', { role: 'tablist', 'aria-label': 'Answers' }, ...places.map(({ tab }) => tab));
  for (const [at, { tab }] of places.entries()) tab.addEventListener('click', () => select(at));
  row.addEventListener('keydown', (event) => {
    const at = places.findIndex(({ tab }) => tab === document.activeElement);
    const last = places.length - 1;
    const to: Record<string, number> = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    };
    const next = to[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    select(next);
    places[next]?.tab.focus();
  });
  select(0);
  return row;
}
