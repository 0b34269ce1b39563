/** A section of the answers, whose content is replaced while the reader stays where they are. */
import { h, type Child } from '../report/dom.js';

export class Place {
  readonly element: HTMLElement;
  private readonly body = h('div', { class: 'body' });
  private readonly state = h('p', { class: 'state' });

  constructor(readonly id: string, readonly title: string) {
    this.element = h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), this.state, this.body);
  }

  /** Says that a newer answer is on its way. */
  wait(words: string): void {
    this.element.setAttribute('aria-busy', 'true');
    this.state.textContent = words;
  }

  /** Says why there is no answer. */
  refuse(message: string): void {
    this.settle();
    this.body.replaceChildren(h('p', { class: 'absent' }, message));
  }

  settle(): void {
    this.element.removeAttribute('aria-busy');
    this.state.textContent = '';
  }

  /** Replaces the content; what was unfolded stays so, and the height stays until the charts are drawn. */
  show(children: Child[]): void {
    const open = new Set(this.unfolded().filter(({ details }) => details.open).map(({ name }) => name));
    this.body.style.minHeight = `${this.body.offsetHeight}px`;
    this.body.replaceChildren(...children.filter((child): child is Node | string => child !== undefined && child !== false));
    for (const { name, details } of this.unfolded()) details.open = open.has(name);
    requestAnimationFrame(() => requestAnimationFrame(() => {
      this.body.style.minHeight = '';
    }));
  }

  /** Returns what can be unfolded, by its place among those of its name. */
  private unfolded(): { name: string; details: HTMLDetailsElement }[] {
    const counts = new Map<string, number>();
    return [...this.body.querySelectorAll('details')].map((details) => {
      const summary = details.querySelector('summary')?.textContent ?? '';
      const count = (counts.get(summary) ?? 0) + 1;
      counts.set(summary, count);
      return { name: `${count} ${summary}`, details };
    });
  }
}
