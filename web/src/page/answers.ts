/** The answers: what is known at a glance, and a place for each kind of answer, which its parts fill. */
import { Csv } from '../data/csv.js';
import type { Json } from '../data/json.js';
import { plural } from '../data/number.js';
import { absent, h, paragraph, type Child } from '../report/dom.js';
import { planSection, planSentence } from '../report/plan.js';
import { runAnswer } from '../report/run/answer.js';
import { runSection } from '../report/run/index.js';
import { stepSection } from '../report/step.js';
import { sweepSection } from '../report/sweep/index.js';
import { terms } from '../report/terms.js';
import { boundsSection, boundsSentence } from './bounds.js';
import { Figures } from './figures.js';
import { front } from './front.js';
import { leftOut, type LeftOut } from './left_out.js';
import { memorySection } from './memory.js';
import { sweep } from './row.js';
import { Place } from './place.js';
import { tabs } from './tabs.js';
import type { Part } from './tasks.js';

/** What is known now, as the commands print it. */
export interface Known {
  run?: string;
  step?: string;
  plan?: string;
  /** Rows of the front, lines of CSV. */
  rows: string[];
}

/** Time in ms without a new answer after which screen readers say the last one. */
const QUIET_MS = 800;

/** Time in ms in which answers are gathered before charts are drawn. */
const DRAW_MS = 100;

/** Time in ms in which rows of the front are gathered. */
const FRONT_MS = 500;

/** What the front varies. */
const SCOPE =
  'Every way to divide a server over the GPUs, under loads of 1 to 512 users. Several servers of a kind have ' +
  'the speeds of one, with as many users each. Loads that other deployments surely beat are not simulated.';

const utf8 = new TextEncoder();

export class Answers {
  readonly element: HTMLElement;
  readonly known: Known = { rows: [] };
  private readonly figures = new Figures();
  private readonly summary = h('div', { class: 'summary' });
  private readonly planned = h('p', { class: 'planned' });
  private readonly said = h('p', { class: 'for-readers', role: 'status' });
  private readonly places = {
    run: new Place('run', 'Run'),
    step: new Place('step', 'Step'),
    fits: new Place('memory', 'Memory'),
    front: new Place('front', 'Pareto front'),
    plan: new Place('plan', 'Plan'),
  };
  private drawing: ReturnType<typeof setTimeout> | undefined;
  private saying: ReturnType<typeof setTimeout> | undefined;
  private fronting: ReturnType<typeof setTimeout> | undefined;
  /** Rows of the front by their places, and deployments without any. */
  private found: { at: number; text: string }[] = [];
  private without: LeftOut[] = [];
  /** The requests of the run as CSV. */
  private requests: string | undefined;

  constructor() {
    const all = Object.values(this.places);
    this.element = h(
      'div',
      { id: 'answers' },
      h(
        'section',
        { id: 'answer', 'aria-label': 'Answer' },
        this.summary,
        this.planned,
        this.figures.element,
        this.said,
      ),
      tabs(all),
      ...all.map((place) => place.element),
      terms(),
    );
    addEventListener('resize', () => this.resized());
  }

  /** Forgets heights, which depend on the width. */
  private resized(): void {
    for (const place of [this.summary, this.planned]) place.style.minHeight = '';
  }

  /** Says that answers to a new question are on their way. */
  wait(): void {
    this.places.plan.wait('Planning…');
    this.places.front.wait('Simulating deployments…');
    delete this.known.plan;
    this.known.rows = [];
    this.found = [];
    this.without = [];
    clearTimeout(this.fronting);
    this.fronting = undefined;
    this.requests = undefined;
  }

  take(part: Part): void {
    switch (part.part) {
      case 'run':
        return this.run(part.text);
      case 'details':
        this.run(part.text);
        return this.details(JSON.parse(part.text) as Json);
      case 'requests':
        this.requests = part.text;
        return;
      case 'step':
        this.known.step = part.text;
        return this.show(this.places.step, () => stepSection(JSON.parse(part.text) as Json).filter(isThere));
      case 'fits':
        return this.show(this.places.fits, () => memorySection(JSON.parse(part.text) as Json));
      case 'bounds':
        return this.bounds(JSON.parse(part.text) as Json);
      case 'plan':
        return this.plan(part.text);
      case 'row':
        this.found.push(part);
        return this.frontSoon();
      case 'out':
        this.without.push(part);
        return this.frontSoon();
      case 'refused':
        return this.refuse(part.of, part.message);
    }
  }

  /** All parts of an answer are there. */
  done(kind: 'run' | 'plan' | 'front'): void {
    if (kind === 'front') this.front();
    this.places[kind].settle();
  }

  /** Shows what is known of a run at once. Its charts wait for the details, so that they do not come and go. */
  private run(text: string): void {
    const run = JSON.parse(text) as Json;
    this.known.run = text;
    this.element.classList.remove('stale');
    this.figures.show(run);
    const answer = runAnswer(run);
    this.sentences(this.summary, ...answer);
    this.say(answer[0]?.textContent ?? '');
    if (this.places.run.isEmpty) this.details(run);
    else this.places.run.wait('Simulating in detail…');
  }

  private details(run: Json): void {
    const files = this.requests === undefined ? {} : { requests: new Csv(utf8.encode(this.requests)) };
    this.show(this.places.run, () => runSection(run, files).slice(runAnswer(run).length));
  }

  private bounds(least: Json): void {
    const sentence = boundsSentence(least);
    this.sentences(this.planned, `Plan: ${sentence}`);
    this.places.plan.wait(`Planning… ${sentence}`);
    if (this.places.plan.isEmpty) this.show(this.places.plan, () => boundsSection(least));
  }

  private plan(text: string): void {
    const plan = JSON.parse(text) as Json;
    this.known.plan = text;
    this.sentences(this.planned, `Plan: ${planSentence(plan)}`);
    this.show(this.places.plan, () => planSection(plan));
  }

  /** Draws the front while it grows, but not under the hands of someone who uses it. */
  private frontSoon(): void {
    this.places.front.wait(`Simulating deployments… ${plural(this.found.length, 'load')} done`);
    this.fronting ??= setTimeout(() => {
      this.fronting = undefined;
      if (!this.places.front.isUsed) this.front();
    }, FRONT_MS);
  }

  private front(): void {
    clearTimeout(this.fronting);
    this.fronting = undefined;
    this.known.rows = this.found.sort((a, b) => a.at - b.at).map(({ text }) => text);
    const out = leftOut(this.without);
    if (this.known.rows.length === 0) {
      this.show(this.places.front, () => [absent('None of the deployments can be simulated.', ''), ...out]);
      return;
    }
    const csv = new Csv(utf8.encode(sweep(this.known.rows)));
    this.show(this.places.front, () => {
      const [sentence, ...rest] = sweepSection(csv, front(csv));
      return [sentence, paragraph(SCOPE), ...out, ...rest];
    });
  }

  private refuse(of: string, message: string): void {
    if (of === 'run') {
      this.element.classList.add('stale');
      this.sentences(this.summary, h('p', { class: 'answer refused' }, message));
      this.say(message);
      return;
    }
    if (of === 'plan') this.sentences(this.planned);
    if (of === 'details') return this.details(JSON.parse(this.known.run ?? 'null') as Json);
    Object.entries(this.places)
      .find(([name]) => name === of)?.[1]
      .refuse(message);
    this.drawSoon();
  }

  /** Replaces sentences in a place that keeps its largest height, so that nothing below moves with their lengths. */
  private sentences(place: HTMLElement, ...words: (Node | string)[]): void {
    place.style.minHeight = `${place.offsetHeight}px`;
    place.replaceChildren(...words);
  }

  private say(words: string): void {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => {
      this.said.textContent = words;
    }, QUIET_MS);
  }

  private show(place: Place, content: () => Child[]): void {
    place.show(content);
    this.drawSoon();
  }

  /** Draws at most every tenth of a second, however fast answers come: charts take the time of some frames. */
  private drawSoon(): void {
    this.drawing ??= setTimeout(() => {
      this.drawing = undefined;
      for (const place of Object.values(this.places)) place.draw();
    }, DRAW_MS);
  }
}

/** Whether a group has figures: a step of the page has no kernels, so that its roofline would ask for a command. */
function isThere(child: Child): boolean {
  return !(child instanceof HTMLElement && child.querySelector(':scope > .absent'));
}
