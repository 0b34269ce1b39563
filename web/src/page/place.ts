/** A kind of answer, whose content is replaced while the reader stays where they are. */
import { h, type Child } from '../report/dom.js';

export class Place {
  readonly tab: HTMLButtonElement;
  readonly element: HTMLElement;
  private readonly body = h('div', { class: 'body' });
  private readonly state = h('p', { class: 'state' });
  /** Content that is not drawn yet. */
  private due: (() => Child[]) | undefined;

  constructor(id: string, title: string) {
    this.tab = h('button', { type: 'button', role: 'tab', id: `${id}-tab`, 'aria-controls': id }, title);
    this.element = h(
      'section',
      { id, role: 'tabpanel', 'aria-labelledby': `${id}-tab` },
      h('h2', { class: 'for-readers' }, title),
      this.state,
      this.body,
    );
  }

  /** Whether it has no content yet. */
  get isEmpty(): boolean {
    return this.body.childElementCount === 0 && this.due === undefined;
  }

  /** Whether the keyboard is in its content. */
  get isUsed(): boolean {
    return this.body.contains(document.activeElement);
  }

  /** Says that a newer answer is on its way. */
  wait(words: string): void {
    this.element.setAttribute('aria-busy', 'true');
    this.state.textContent = words;
  }

  settle(): void {
    this.element.removeAttribute('aria-busy');
    this.state.textContent = '';
  }

  /** Says why there is no answer. */
  refuse(message: string): void {
    this.settle();
    this.show(() => [h('p', { class: 'absent' }, message)]);
  }

  /** Takes content, which is drawn when the place is in view. */
  show(content: () => Child[]): void {
    this.due = content;
  }

  /** Draws new content. What was unfolded stays so, and the height stays until the charts are drawn. */
  draw(): void {
    if (!this.due || this.element.hidden) return;
    const children = this.due();
    this.due = undefined;
    const open = new Set(
      this.unfolded()
        .filter(({ details }) => details.open)
        .map(({ name }) => name),
    );
    this.body.style.minHeight = `${this.body.offsetHeight}px`;
    this.body.replaceChildren(
      ...children.filter((child): child is Node | string => child !== undefined && child !== false),
    );
    for (const { name, details } of this.unfolded()) details.open = open.has(name);
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        this.body.style.minHeight = '';
      }),
    );
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
