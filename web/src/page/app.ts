/** The page: settings ask, workers answer. */
import { button } from '../data/element.js';
import { h } from '../report/dom.js';
import { readAddress, writeAddress } from './address.js';
import { Answers } from './answers.js';
import { Exports } from './exports.js';
import { fields, type Catalogue, type Field, type Settings } from './fields.js';
import { Form } from './form.js';
import { Lane, type Workers } from './lane.js';
import { ofServer, pasted } from './paste.js';
import { questions, type Questions } from './questions.js';
import type { Part } from './tasks.js';
import { isVllm, vllmWords } from './vllm.js';

/** Time in ms without a change after which the searches begin. */
const PAUSE_MS = 180;
/** Bytes of a file that is read. */
const LARGEST_FILE = 1_000_000;
/** Time in ms after which a change is a step of its own for the back button. */
const STEP_MS = 1500;

export class App {
  private readonly fields: Field[];
  private readonly form: Form;
  private readonly answers = new Answers();
  private readonly exports = new Exports(() => this.answers.known);
  private readonly message = h('p', { class: 'wrong', role: 'alert' });
  private readonly lanes: { run: Lane; plan: Lane; front: Lane; vllm: Lane };
  private settings: Settings = {};
  private pause: ReturnType<typeof setTimeout> | undefined;
  private changedAt = 0;
  private written = '';

  constructor(
    private readonly catalogue: Catalogue,
    run: Lane,
    workers: Workers,
  ) {
    this.fields = fields(catalogue);
    this.form = new Form(this.fields, (settings) => this.change(settings));
    this.lanes = { run, plan: new Lane(workers), front: new Lane(workers), vllm: new Lane(workers) };
  }

  /** Shows the page and the settings of its address. */
  start(page: HTMLElement): void {
    const reset = button('Initial settings', () => {
      this.form.set({});
      this.change({});
    });
    const side = h('div', { id: 'form' }, this.message, this.paste(), this.form.element, reset);
    this.answers.element.append(this.exports.element);
    page.replaceChildren(h('div', { class: 'columns' }, side, this.answers.element));
    addEventListener('popstate', () => void this.readAddress());
    void this.readAddress();
  }

  private async readAddress(): Promise<void> {
    if (location.hash === this.written && this.changedAt > 0) return;
    this.written = location.hash;
    let settings: Settings = {};
    this.message.textContent = '';
    try {
      settings = await readAddress(location.hash, this.fields);
    } catch (error) {
      this.message.textContent = `${(error as Error).message} These are the initial settings.`;
    }
    this.form.set(settings);
    this.ask(settings);
  }

  /** Takes settings that were changed by hand. */
  private change(settings: Settings): void {
    this.message.textContent = '';
    this.ask(settings);
    void this.keep(settings);
  }

  private async keep(settings: Settings): Promise<void> {
    const fragment = await writeAddress(settings);
    if (settings !== this.settings) return;
    if (fragment === undefined) {
      this.message.textContent = 'The settings are too long for the address; save the scenario to keep them.';
      return;
    }
    const isStep = performance.now() - this.changedAt > STEP_MS;
    this.changedAt = performance.now();
    this.written = fragment;
    history[isStep ? 'pushState' : 'replaceState'](
      null,
      '',
      fragment === '' ? location.pathname + location.search : fragment,
    );
  }

  private ask(settings: Settings): void {
    this.settings = settings;
    clearTimeout(this.pause);
    this.lanes.plan.cancel();
    this.lanes.front.cancel();
    let asked: Questions;
    try {
      asked = questions(settings, this.catalogue);
    } catch (error) {
      this.take({ part: 'refused', of: 'run', message: `other: ${(error as Error).message}` });
      return;
    }
    this.exports.show(asked);
    const { run: scenario, details, fits, config } = asked;
    this.lanes.run.ask(
      { kind: 'run', scenario, details, fits, config },
      { part: (part) => this.take(part), done: () => this.answers.done('run') },
    );
    this.answers.wait();
    this.pause = setTimeout(() => this.search(asked), PAUSE_MS);
  }

  private search({ plan, front, config }: Questions): void {
    const part = (part: Part): void => this.take(part);
    const simulate = (): void => {
      this.lanes.front.ask({ kind: 'front', deployments: front, config }, { part, done: () => this.answers.done('front') });
    };
    const isWide = navigator.hardwareConcurrency > 2;
    this.lanes.plan.ask(
      { kind: 'plan', question: plan, config },
      {
        part,
        done: () => {
          this.answers.done('plan');
          if (!isWide) simulate();
        },
      },
    );
    if (isWide) simulate();
  }

  private take(part: Part): void {
    if (part.part === 'run') {
      this.form.accept();
      this.exports.repeat(JSON.parse(part.text));
    }
    if (part.part === 'refused' && part.of === 'run') this.exports.repeat(undefined);
    if (part.part === 'refused' && (part.of === 'run' || part.of === 'plan')) this.form.refuse(part.message);
    this.answers.take(part);
  }

  /** Returns the place for a config.json, a command or a scenario. */
  private paste(): HTMLElement {
    const input = h('textarea', { id: 'paste', rows: '4', spellcheck: 'false', 'aria-describedby': 'paste-wrong' });
    const wrong = h('p', { id: 'paste-wrong', class: 'wrong', role: 'alert' });
    const file = h('input', { id: 'paste-file', type: 'file', 'aria-label': 'Read it from a file' });
    const take = (settings: Settings): void => {
      wrong.textContent = '';
      this.form.set(settings);
      this.change(settings);
    };
    const refuse = (message: string): void => {
      wrong.textContent = message;
    };
    const use = button('Use it', () => {
      if (isVllm(input.value)) {
        this.vllm(input.value, take, refuse);
        return;
      }
      try {
        take(pasted(input.value, this.settings, this.fields));
      } catch (error) {
        refuse((error as Error).message);
      }
    });
    file.addEventListener('change', async () => {
      const chosen = file.files?.[0];
      if (!chosen) return;
      if (chosen.size > LARGEST_FILE) refuse(`Expected a file of at most ${LARGEST_FILE} bytes, found ${chosen.size}.`);
      else {
        input.value = await chosen.text();
        use.click();
      }
    });
    return h(
      'details',
      { class: 'paste' },
      h('summary', {}, 'Paste a config.json, a command of vLLM, or a scenario'),
      h('label', { for: 'paste' }, 'A model\u2019s config.json, a vllm serve command, or a scenario (TOML)'),
      input,
      wrong,
      h('div', { class: 'tools' }, use, file),
    );
  }

  private vllm(command: string, take: (settings: Settings) => void, refuse: (message: string) => void): void {
    const part = (part: Part): void => {
      if (part.part === 'refused') refuse(part.message);
      if (part.part === 'scenario') take(ofServer(part.text, this.settings, this.fields));
    };
    this.lanes.vllm.ask({ kind: 'vllm', words: vllmWords(command) }, { part, done: () => {} });
  }
}
