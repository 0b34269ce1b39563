import type { ChartSpec, Point, TimelineSpec } from '../src/chart/index.js';
import { latency } from '../src/data/number.js';

/** A sequence of numbers from 0 to 1 that is the same each time. */
export function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export const HOSTILE = '<img src=x onerror="alert(1)">&lt;b>';

/** Specifications of all kinds of charts. */
export function specs(): Record<string, ChartSpec> {
  const random = sequence(7);
  const range = (n: number) => Array.from({ length: n }, (_, i) => i);
  const curve = (base: number, limit: number): Point[] =>
    range(14).map((i) => {
      const x = (i + 1) * 0.5;
      const y = base + 6 / Math.max(0.15, limit - x);
      return { x, y, low: y * 0.95, high: y * 1.06 };
    });
  const walk = (n: number, scale: number): Point[] => {
    let y = scale;
    return range(n).map((i) => ({ x: i * 0.1, y: (y = Math.max(0, y + (random() - 0.5) * scale * 0.3)) }));
  };
  const gpus = ['h100-sxm', 'h200-sxm', 'b200-sxm', 'a100-sxm-80gb', 'l40s'];
  return {
    lines: {
      title: 'TPOT rises with the rate; the limit of 40 ms is met to 6 requests/s',
      note: 'Median of five seeds; the bands are 95 % intervals.',
      x: { label: 'rate (requests/s)', scale: 'linear' },
      y: { label: 'TPOT p99 (ms)', scale: 'linear' },
      series: [
        { name: 'h100-sxm', mark: 'line', points: curve(18, 7) },
        { name: 'h200-sxm', mark: 'line', points: curve(14, 8.4) },
        { name: 'b200-sxm', mark: 'line', points: curve(13.6, 9.5) },
      ],
      limits: [{ axis: 'y', value: 40, label: 'limit 40 ms' }],
    },
    log: {
      title: 'Cost per million tokens falls with the batch',
      x: { label: 'batch (sequences)', scale: 'log' },
      y: { label: 'cost ($ per million tokens)', scale: 'log' },
      series: gpus.map((name, g) => ({ name, mark: 'line', points: range(9).map((i) => ({ x: 2 ** i, y: (3 + g) / 2 ** (i * 0.8) + 0.05 * (g + 1) })) })),
      limits: [{ axis: 'x', value: 64, label: 'batch of the plan' }],
    },
    dots: {
      title: 'Ten configurations lie on the Pareto front',
      x: { label: 'cost ($/h)', scale: 'linear' },
      y: { label: 'throughput (tokens/s)', scale: 'linear' },
      series: [
        { name: 'dominated', mark: 'dots', colour: 'muted', points: range(400).map(() => ({ x: 5 + random() * 95, y: random() * 40_000, label: 'tp 2' })) },
        { name: 'Pareto front', mark: 'dots', colour: 1, points: range(10).map((i) => ({ x: 6 + i * 10, y: 8000 + 12_000 * Math.sqrt(i), label: `tp ${i}`, note: 'batch 64' })) },
      ],
    },
    dense: {
      title: '20_000 requests: TTFT grows with the prompt',
      x: { label: 'prompt (tokens)', scale: 'log' },
      y: { label: 'TTFT (ms)', scale: 'log', format: (v) => latency(v) },
      series: [{ name: 'requests', mark: 'dots', points: range(20_000).map(() => {
        const x = 10 ** (1 + random() * 3.5);
        return { x, y: 20 + x * (0.1 + random() * random()) };
      }) }],
      limits: [{ axis: 'y', value: 500, label: 'limit 500 ms' }],
    },
    bars: {
      title: 'The h200-sxm costs least for this load',
      x: { label: 'cost ($/h)', scale: 'linear' },
      y: { label: 'GPU', scale: 'band', categories: gpus },
      series: [{ name: 'cost', mark: 'bars', points: gpus.map((_, i) => ({ x: 12 + ((i * 37) % 50), y: i, low: 10 + ((i * 37) % 50), high: 15 + ((i * 37) % 50) })) }],
      height: 240,
    },
    grouped: {
      title: 'Predicted and measured throughput',
      x: { label: 'configuration', scale: 'band', categories: ['tp 1, batch 8', 'tp 2, batch 8', 'tp 4, batch 32', HOSTILE] },
      y: { label: 'throughput (tokens/s)', scale: 'linear' },
      series: [
        { name: 'predicted', mark: 'bars', points: range(4).map((x) => ({ x, y: 9000 + x * 2100 })) },
        { name: 'measured', mark: 'bars', points: range(4).map((x) => ({ x, y: 8700 + x * 2300, low: 8500 + x * 2300, high: 9100 + x * 2300 })) },
        { name: HOSTILE, mark: 'bars', points: range(4).map((x) => ({ x, y: 4000 + x * 900 })) },
      ],
    },
    histogram: {
      title: 'Step times have two peaks',
      x: { label: 'step time (ms)', scale: 'linear', digits: 4 },
      y: { label: 'steps', scale: 'linear' },
      series: [{ name: 'steps', mark: 'bars', points: range(3000).map((i) => ({ x: i * 0.02, to: (i + 1) * 0.02, y: Math.round(900 * Math.exp(-(((i - 900) / 200) ** 2)) + 400 * Math.exp(-(((i - 2000) / 260) ** 2)) + random() * 40) })) }],
    },
    parts: {
      title: 'GEMMs take most of a step',
      x: { label: 'share of the step (ms)', scale: 'linear' },
      y: { label: 'batch', scale: 'band', categories: ['1', '8', '64', '256'] },
      series: ['gemm', 'attention', 'all-reduce', 'sampler'].map((name, s) => ({ name, mark: 'stack', points: range(4).map((y) => ({ x: (4 - s) * (1 + y * 0.8 * (s === 1 ? 2 : 1)), y })) })),
      height: 240,
    },
    queue: {
      title: 'Requests in the queue',
      x: { label: 'time (s)', scale: 'linear' },
      y: { label: 'requests', scale: 'linear' },
      series: [
        { name: 'waiting', mark: 'area', points: walk(6000, 40) },
        { name: 'rejected', mark: 'steps', points: walk(6000, 12), colour: 'bad' },
      ],
      height: 200,
    },
    running: {
      title: 'Tokens in the batch',
      x: { label: 'time (s)', scale: 'linear' },
      y: { label: 'tokens', scale: 'linear' },
      series: ['decode', 'prefill', 'cached'].map((name, s) => ({ name, mark: 'stack', points: walk(600, 9000 - s * 2500).map((p) => ({ ...p, x: p.x * 10 })) })),
      height: 200,
    },
  };
}

/** Returns a timeline of `n` requests on two replicas. */
export function requests(n: number): TimelineSpec {
  const random = sequence(3);
  const starts = new Float64Array(n);
  const [queued, prefilled, done] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
  const group = new Uint8Array(n);
  for (let i = 0, time = 0; i < n; i += 1) {
    time += -Math.log(1 - random()) * 0.05;
    starts[i] = time;
    queued[i] = time + random() * random() * 0.6;
    prefilled[i] = (queued[i] ?? 0) + 0.05 + random() * 0.3;
    done[i] = (prefilled[i] ?? 0) + 0.2 - Math.log(1 - random()) * 2;
    group[i] = i % 2;
  }
  return {
    title: `Each of ${n} requests from its arrival to its last token`,
    x: { label: 'time (s)' },
    phases: [{ name: 'queue', colour: 'muted' }, { name: 'prefill', colour: 1 }, { name: 'decode', colour: 0 }],
    starts,
    ends: [queued, prefilled, done],
    group,
    groups: ['replica 0', 'replica 1'],
    label: (i) => `request ${i}`,
  };
}
