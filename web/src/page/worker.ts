/** A worker: simulates what the page asks, the newest question first. */
import { get, num, type Json } from '../data/json.js';
import { Library } from './library.js';
import type { FromWorker, Part, Task, ToWorker } from './tasks.js';
import { joinScenario, put, splitScenario } from './toml.js';

/** Windows over a run. */
const WINDOWS = 40;

let library: Promise<Library> | undefined;
let newest = 0;

const say = (message: FromWorker): void => postMessage(message);

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  if ('start' in data) {
    library = Promise.resolve(new Library(data.start));
    return;
  }
  newest = data.id;
  // Questions that wait behind this one replace it.
  setTimeout(() => void work(data.id, data.task), 0);
});

async function work(id: number, task: Task): Promise<void> {
  if (id !== newest || !library) return;
  say({ id, state: 'begun' });
  const ready = await library;
  for (const [of, step] of steps(task, ready)) {
    try {
      for (const part of await step()) say({ id, state: 'part', part });
    } catch (error) {
      say({ id, state: 'part', part: { part: 'refused', of, message: (error as Error).message } });
      // What follows is about the same scenario.
      break;
    }
    await pause();
    if (id !== newest) return;
  }
  say({ id, state: 'done' });
}

/** Lets messages in. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

type Step = [of: string, answer: () => Promise<Part[]> | Part[]];

function steps(task: Task, library: Library): Step[] {
  switch (task.kind) {
    case 'catalogue':
      return [['catalogue', () => [{ part: 'catalogue', catalogue: { models: library.names('model'), gpus: library.names('tables'), engines: [] } }]]];
    case 'run':
      return runSteps(task, library);
    case 'plan': {
      const { scenario, wanted } = task.question;
      return [['plan', () => [{ part: 'plan', text: library.plan(scenario, task.config, wanted) }]]];
    }
    case 'front':
      return task.scenarios.map((scenario): Step => ['front', () => [{ part: 'rows', text: library.sweep(scenario, task.config) }]]);
    case 'vllm':
      return [['vllm', () => { throw new Error('Not yet.'); }]];
  }
}

function runSteps({ scenario, details, fits, config }: Extract<Task, { kind: 'run' }>, library: Library): Step[] {
  let run: Json;
  return [
    ['run', () => {
      const text = library.run(scenario, config);
      run = JSON.parse(text);
      return [{ part: 'run', text }];
    }],
    ['fits', () => [{ part: 'fits', text: library.fits(fits.scenario, config, fits.wanted) }]],
    ['run', () => [{ part: 'details', text: library.run(withWindows(details, run), config) }]],
  ];
}

/** Adds windows of a round width to a scenario without. */
function withWindows(toml: string, run: Json): string {
  const scenario = splitScenario(toml);
  const seconds = num(get(run, 'throughput'), 'makespan_s') ?? num(run, 'makespan_s');
  if (seconds === undefined || scenario.tables.get('output')?.has('windows')) return toml;
  const least = seconds / WINDOWS;
  const power = 10 ** Math.floor(Math.log10(least));
  const width = [1, 2, 5, 10].map((digit) => digit * power).find((width) => width >= least) ?? least;
  put(scenario.tables, 'output', 'windows', String(Number(width.toPrecision(3))));
  return joinScenario(scenario);
}
