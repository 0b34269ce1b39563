/** A worker: simulates what the page asks, the newest question first. */
import type { Json } from '../data/json.js';
import { degrees } from '../report/run/degrees.js';
import { Rooflut } from '../../../bindings/wasm/js/rooflut.js';
import type { Model } from '../../../bindings/wasm/js/model.js';
import { Loads, loaded } from './loads.js';
import { CONFIG_FILE, type Deployment } from './questions.js';
import { rowOf } from './row.js';
import { averageStep } from './step.js';
import type { FromWorker, Part, Task, ToWorker } from './tasks.js';
import { vllmScenario } from './vllm.js';

/** Time in ms without a newer question after which a run is simulated in detail. */
const CALM_MS = 300;

let library: Rooflut | undefined;
let rest: WebAssembly.Module | undefined;
let newest = 0;

const say = (message: FromWorker): void => postMessage(message);

addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
  if ('start' in data) library = new Rooflut(data.start, fetchTables, restAtOnce);
  else if ('rest' in data) rest = data.rest;
  else if ('gpus' in data)
    library?.loadTables(...data.gpus).catch(() => {}); // The task that needs them says so.
  else {
    newest = data.id;
    // Questions that wait behind this one replace it.
    setTimeout(() => void work(data.id, data.task), 0);
  }
});

async function fetchTables(gpu: string): Promise<ArrayBuffer> {
  const response = await fetch(`tables/${gpu}.bin`).catch(() => undefined);
  if (!response?.ok)
    throw new Error(`The tables of ${gpu} could not be fetched: check the network, or choose another GPU.`);
  say({ state: 'fetched', gpu });
  return response.arrayBuffer();
}

/** Returns the rest of the library, which a call waits for; fetches it if the page has not sent it yet. */
function restAtOnce(): WebAssembly.Module {
  if (rest) return rest;
  const request = new XMLHttpRequest();
  request.open('GET', 'rooflut.rest.wasm', false);
  request.responseType = 'arraybuffer';
  try {
    request.send();
  } catch {
    // Its status says so.
  }
  if (request.status !== 200)
    throw new Error('A part of the simulator could not be fetched: check the network, and try again.');
  rest = new WebAssembly.Module(request.response as ArrayBuffer);
  return rest;
}

async function work(id: number, task: Task): Promise<void> {
  if (id !== newest || !library) return;
  say({ id, state: 'begun' });
  for (const [of, answer] of steps(task, library, modelOf(library, task))) {
    try {
      const part = await answer();
      if (part) say({ id, state: 'part', part });
    } catch (error) {
      say({ id, state: 'part', part: { part: 'refused', of, message: (error as Error).message } });
    }
    await pause();
    if (id !== newest) return;
  }
  say({ id, state: 'done' });
}

/** Lets messages in. */
function pause(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

let read: { config: string; model: Model } | undefined;

/** Returns how to get the model that replaces the one of the scenario. */
function modelOf(library: Rooflut, task: Task): () => { model?: Model } {
  const config = 'config' in task ? task.config : undefined;
  return () => {
    if (config === undefined) return {};
    if (read?.config !== config) read = { config, model: library.readModel({ name: CONFIG_FILE, config }) };
    return { model: read.model };
  };
}

type Step = [of: string, answer: () => Part | undefined | Promise<Part | undefined>];

function steps(task: Task, library: Rooflut, objects: () => { model?: Model }): Iterable<Step> {
  switch (task.kind) {
    case 'catalogue':
      return [
        [
          'catalogue',
          () => {
            const [models, gpus, engines] = [library.models(), library.tables(), library.engines()];
            return { part: 'catalogue', catalogue: { models, gpus, engines } };
          },
        ],
      ];
    case 'run':
      return runSteps(task, library, objects);
    case 'plan': {
      const { scenario, wanted } = task.question;
      return [
        ['plan', async () => ({ part: 'bounds', text: await library.planLeast(scenario, wanted, objects()) })],
        ['plan', async () => ({ part: 'plan', text: await library.plan(scenario, wanted, objects()) })],
      ];
    }
    case 'front':
      return frontSteps(task.deployments, library, objects);
    case 'vllm':
      return [['vllm', () => ({ part: 'scenario', text: vllmScenario(library.readVllm(task.words)) })]];
  }
}

/** Simulates deployments; what is known of them decides about the next one. */
function* frontSteps(
  deployments: Deployment[],
  library: Rooflut,
  objects: () => { model?: Model },
): Generator<Step, void> {
  const loads = new Loads(deployments.map(({ tp, pp, dp }) => tp * pp * dp));
  for (const { at, users } of loads.next()) {
    const deployment = deployments[at] as Deployment;
    const simulate = async (): Promise<Part> => {
      try {
        const report = JSON.parse(await library.run(loaded(deployment.scenario, users), objects())) as Json;
        loads.note(at, users, report);
        return { part: 'row', at: loads.place(at, users), text: rowOf(deployment, users, report) };
      } catch (error) {
        loads.leaveOut(at);
        const { gpu, tp, pp, dp } = deployment;
        return { part: 'out', deployment: `${gpu} ${degrees({ tp, pp, dp })}`, reason: (error as Error).message };
      }
    };
    yield ['front', simulate];
  }
}

function runSteps(
  { scenario, details, fits }: Extract<Task, { kind: 'run' }>,
  library: Rooflut,
  objects: () => { model?: Model },
): Step[] {
  let run: Json;
  /** What follows of a run that was not refused. */
  const after = (answer: () => Promise<Part | undefined>) => async (): Promise<Part | undefined> =>
    run === undefined ? undefined : answer();
  return [
    [
      'run',
      async () => {
        const text = await library.run(scenario, objects());
        run = JSON.parse(text);
        return { part: 'run', text };
      },
    ],
    ['fits', async () => ({ part: 'fits', text: await library.fits(fits.scenario, fits.wanted, objects()) })],
    [
      'step',
      after(async () => {
        const text = await averageStep(library, scenario, objects().model, run);
        return text === undefined ? undefined : { part: 'step', text };
      }),
    ],
    [
      'details',
      after(async () => {
        await pause(CALM_MS);
        return undefined;
      }),
    ],
    [
      'details',
      after(async () => ({
        part: 'requests',
        text: await library.run(scenario, { ...objects(), output: 'requests.csv' }),
      })),
    ],
    ['details', after(async () => ({ part: 'details', text: await library.run(details, objects()) }))],
  ];
}
