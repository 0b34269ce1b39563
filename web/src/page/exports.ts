/** What may be taken from the page: scenario, command, report. */
import { button } from '../data/element.js';
import { text, type Json } from '../data/json.js';
import { command, h } from '../report/dom.js';
import { sweep } from './row.js';
import type { Known } from './answers.js';
import { CONFIG_FILE, type Questions } from './questions.js';
import { filled, type ReportInput } from './report.js';

export class Exports {
  readonly element: HTMLElement;
  private readonly place = h('div');
  private readonly said = h('p', { role: 'status' });
  private readonly config: HTMLElement;
  private questions: Questions | undefined;

  constructor(private readonly known: () => Known) {
    this.config = button('config.json', () => save(CONFIG_FILE, 'application/json', this.questions?.config ?? ''));
    this.element = h(
      'section',
      { id: 'take', 'aria-labelledby': 'take-title' },
      h('h2', { id: 'take-title' }, 'Take it along'),
      h(
        'div',
        { class: 'tools' },
        button('Scenario (TOML)', () => save('scenario.toml', 'application/toml', this.questions?.run ?? '')),
        this.config,
        button('Report (HTML)', () => void this.report()),
      ),
      this.said,
      this.place,
      h(
        'p',
        { class: 'help' },
        'The address of this page holds the settings: copy it to share them. Each chart has its own SVG and CSV.',
      ),
    );
  }

  show(questions: Questions): void {
    this.questions = questions;
    this.config.hidden = questions.config === undefined;
  }

  /** Shows the command of a run, if there is one. */
  repeat(run: Json): void {
    const words = text(run, 'command');
    this.place.replaceChildren(...(words === undefined ? [] : [command(words, 'Command that repeats the run')]));
  }

  /** Saves what is known as a report. */
  private async report(): Promise<void> {
    const { run, step, plan, rows } = this.known();
    const inputs: ReportInput[] = [
      ...(run === undefined ? [] : [{ name: 'run.json', kind: 'run' as const, text: run }]),
      ...(step === undefined ? [] : [{ name: 'step.json', kind: 'step' as const, text: step }]),
      ...(plan === undefined ? [] : [{ name: 'plan.json', kind: 'plan' as const, text: plan }]),
      ...(rows.length === 0 ? [] : [{ name: 'sweep.csv', kind: 'sweep' as const, text: sweep(rows) }]),
    ];
    try {
      save('report.html', 'text/html', await filled(inputs));
      this.said.textContent = '';
    } catch (error) {
      const reason = (error as Error).message;
      this.said.textContent = `The report needs report.html beside this page, which could not be fetched: ${reason}.`;
    }
  }
}

function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href: url, download: name }).click();
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
