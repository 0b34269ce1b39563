/** Entries of a legend, which show and hide what they name. */
import { element } from '../data/element.js';

/** Returns the button of entry `at`. It adds its position to `hidden`, or removes it, and calls `changed`. */
export function entry(name: string, sample: Element, at: number, hidden: Set<number>, changed: () => void): HTMLElement {
  const toggle = element('button', '', sample, name);
  toggle.type = 'button';
  toggle.setAttribute('aria-pressed', 'true');
  toggle.addEventListener('click', () => {
    if (!hidden.delete(at)) hidden.add(at);
    toggle.setAttribute('aria-pressed', String(!hidden.has(at)));
    changed();
  });
  return toggle;
}
