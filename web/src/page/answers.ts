/** The answers: places of sections, which the parts of answers fill. */
import { Csv } from '../data/csv.js';
import type { Json } from '../data/json.js';
import { h, type Child } from '../report/dom.js';
import { planSection } from '../report/plan.js';
import { runAnswer } from '../report/run/answer.js';
import { runSection } from '../report/run/index.js';
import { stepSection } from '../report/step.js';
import { sweepSection } from '../report/sweep/index.js';
import { Figures } from './figures.js';
import { front, joined } from './front.js';
import { memorySection } from './memory.js';
import { Place } from './place.js';
import type { Part } from './tasks.js';

/** What is known now, as the commands print it. */
export interface Known {
  run?: string;
  step?: string;
  plan?: string;
  /** Rows of the sweeps of the front. */
  sweeps: string[];
}

/** Time in ms without a new answer after which readers of the screen hear the last one. */
const QUIET_MS = 800;

export class Answers {
  readonly element: HTMLElement;
  readonly known: Known = { sweeps: [] };
  private readonly figures = new Figures();
  private readonly summary = h('div', { class: 'summary' });
  private readonly said = h('p', { class: 'for-readers', role: 'status' });
  private readonly places = {
    run: new Place('run', 'Run'),
    step: new Place('step', 'Step'),
    fits: new Place('memory', 'Memory'),
    front: new Place('front', 'Front'),
    plan: new Place('plan', 'Plan'),
  };
  /** Contents that are not drawn yet, by place. */
  private readonly due = new Map<Place, () => Child[]>();
  /** The requests of the run as CSV. */
  private requests: string | undefined;
  private frame: number | undefined;
  private saying: ReturnType<typeof setTimeout> | undefined;

  constructor(exports: HTMLElement) {
    const all = Object.values(this.places);
    const links = all.map(({ id, title }) => h('li', {}, h('a', { href: `#${id}` }, title)));
    // The fragment of the address holds the settings.
    for (const link of links) link.firstElementChild?.addEventListener('click', (event) => jump(event));
    this.element = h('div', { id: 'answers' },
      h('section', { id: 'answer', 'aria-label': 'Answer' }, this.summary, this.figures.element, this.said),
      h('nav', { 'aria-label': 'Answers' }, h('ul', {}, ...links)), ...all.map((place) => place.element), exports);
  }

  /** Says that answers to a new question are on their way. */
  wait(): void {
    this.places.plan.wait('Planning…');
    this.places.front.wait('Simulating deployments…');
    this.known.sweeps = [];
  }

  take(part: Part): void {
    switch (part.part) {
      case 'run':
        this.requests = undefined;
        return this.run(part.text);
      case 'details':
        return this.run(part.text);
      case 'requests':
        this.requests = part.text;
        return;
      case 'step':
        this.known.step = part.text;
        return this.draw(this.places.step, () => stepSection(JSON.parse(part.text) as Json));
      case 'fits':
        return this.draw(this.places.fits, () => memorySection(JSON.parse(part.text) as Json));
      case 'plan':
      case 'bounds':
        return this.plan(part.text, part.part === 'plan');
      case 'rows':
        return this.rows(part.text);
      case 'refused':
        return this.refuse(part.of, part.message);
    }
  }

  private run(text: string): void {
    const run = JSON.parse(text) as Json;
    this.known.run = text;
    this.element.classList.remove('stale');
    this.figures.show(run);
    const answer = runAnswer(run);
    this.summary.replaceChildren(...answer);
    this.say(answer[0]?.textContent ?? '');
    const files = this.requests === undefined ? {} : { requests: { csv: new Csv(this.requests), leftOut: undefined } };
    this.draw(this.places.run, () => runSection(run, files).slice(answer.length));
  }

  private plan(text: string, isFinal: boolean): void {
    const place = this.places.plan;
    this.draw(place, () => planSection(JSON.parse(text) as Json));
    if (!isFinal) return;
    this.known.plan = text;
    place.settle();
  }

  private rows(text: string): void {
    this.known.sweeps.push(text);
    const csv = joined(this.known.sweeps);
    this.draw(this.places.front, () => {
      const rows = new Csv(csv);
      return sweepSection(rows, front(rows), undefined);
    });
  }

  /** The last part of an answer of a kind is there. */
  done(kind: 'plan' | 'front'): void {
    this.places[kind].settle();
  }

  private refuse(of: string, message: string): void {
    const place = Object.entries(this.places).find(([name]) => name === of)?.[1];
    if (of !== 'run') {
      if (place) this.due.delete(place);
      place?.refuse(message);
      return;
    }
    this.element.classList.add('stale');
    this.summary.replaceChildren(h('p', { class: 'answer refused' }, message));
    this.say(message);
  }

  private say(words: string): void {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => { this.said.textContent = words; }, QUIET_MS);
  }

  /** Draws the content of a place soon: one place a frame, so that input is never blocked for long. */
  private draw(place: Place, content: () => Child[]): void {
    this.due.set(place, content);
    this.frame ??= requestAnimationFrame(() => this.drawNext());
  }

  private drawNext(): void {
    const [next] = this.due;
    if (next) {
      this.due.delete(next[0]);
      next[0].show(next[1]());
    }
    this.frame = this.due.size > 0 ? requestAnimationFrame(() => this.drawNext()) : undefined;
  }
}

function jump(event: Event): void {
  event.preventDefault();
  const target = document.querySelector((event.currentTarget as HTMLAnchorElement).hash);
  target?.scrollIntoView();
  target?.querySelector('h2')?.setAttribute('tabindex', '-1');
  target?.querySelector('h2')?.focus();
}
