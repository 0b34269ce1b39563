/** The figures of a run at a glance, updated in place. */
import { num, type Json } from '../data/json.js';
import { fixed, latency, percent, threeDigits } from '../data/number.js';
import { h } from '../report/dom.js';

interface Figure {
  label: string;
  /** Path of the value in the report, and in its interval. */
  path: string;
  text: (value: number, run: Json) => string;
  interval?: string;
}

const FIGURES: Figure[] = [
  { label: 'TTFT, p99', path: 'ttft_ms.p99', text: latency, interval: 'interval.ttft_ms.p99' },
  { label: 'TPOT, mean', path: 'tpot_ms.mean', text: latency, interval: 'interval.tpot_ms.mean' },
  { label: 'E2E, p99', path: 'e2e_ms.p99', text: latency, interval: 'interval.e2e_ms.p99' },
  {
    label: 'Requests/s',
    path: 'throughput.requests_per_s',
    text: (value) => fixed(value, 2),
    interval: 'interval.requests_per_s',
  },
  { label: 'Tokens/s a user', path: 'tokens_per_s_per_user', text: threeDigits },
  { label: 'Output tokens/s a GPU', path: 'output_tokens_per_s_per_gpu', text: (value) => fixed(value, 0) },
  { label: 'USD per million output tokens', path: 'cost.usd_per.million_output_tokens', text: threeDigits },
  {
    label: 'KV cache at the peak',
    path: 'kv_blocks_peak',
    text: (peak, run) => percent((100 * peak) / (num(run, 'kv_blocks') ?? NaN)),
  },
];

export class Figures {
  readonly element: HTMLElement;
  private readonly cells = FIGURES.map(() => ({ value: h('dd', {}, '-'), range: h('dd', { class: 'range' }) }));

  constructor() {
    const tiles = FIGURES.map(({ label }, at) =>
      h('div', {}, h('dt', {}, label), this.cells[at]?.value, this.cells[at]?.range),
    );
    this.element = h('dl', { class: 'figures' }, ...tiles);
  }

  show(run: Json): void {
    for (const [at, { path, text, interval }] of FIGURES.entries()) {
      const cell = this.cells[at];
      const value = num(run, path);
      if (!cell) continue;
      cell.value.textContent = value === undefined ? '-' : text(value, run);
      const [low, high] = interval === undefined ? [] : [num(run, `${interval}.low`), num(run, `${interval}.high`)];
      // Before its interval is there, the place of a range stays, so that nothing moves.
      cell.range.textContent =
        low === undefined || high === undefined ? '\u00a0' : `${text(low, run)} to ${text(high, run)}`;
    }
  }
}
