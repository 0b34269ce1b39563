/** Workers that answer one question at a time and drop it for a newer one. */
import type { FromWorker, Part, Task, ToWorker } from './tasks.js';

/** Time in ms in which a worker must begin a new task before it is ended. */
const PATIENCE_MS = 25;

export interface Answer {
  part(part: Part): void;
  /** All parts are there. */
  done(): void;
}

/** Starts workers ahead of need: one waits with its library ready. */
export class Workers {
  private spare: Worker;
  private readonly gpus = new Set<string>();
  private readonly rest: Promise<WebAssembly.Module>;
  /** Tells that the page has its first answer: what follows may take the network. */
  answered = (): void => {};

  constructor(
    private readonly script: string,
    private readonly library: WebAssembly.Module,
    fetchRest: () => Promise<WebAssembly.Module>,
  ) {
    this.rest = new Promise<void>((resolve) => (this.answered = resolve)).then(fetchRest);
    this.spare = this.started();
  }

  take(): Worker {
    const worker = this.spare;
    this.spare = this.started();
    return worker;
  }

  fetched(gpu: string): void {
    if (this.gpus.has(gpu)) return;
    this.gpus.add(gpu);
    this.spare.postMessage({ gpus: [gpu] } satisfies ToWorker);
  }

  private started(): Worker {
    const worker = new Worker(this.script);
    worker.postMessage({ start: this.library } satisfies ToWorker);
    worker.postMessage({ gpus: [...this.gpus] } satisfies ToWorker);
    this.rest.then(
      (rest) => worker.postMessage({ rest } satisfies ToWorker),
      () => {}, // The worker fetches it when it needs it, and says what fails.
    );
    return worker;
  }
}

export class Lane {
  private worker: Worker | undefined;
  /** Number of the last task, and the task in words of the page while it is not answered in full. */
  private id = 0;
  private asked: { task: Task; answer: Answer } | undefined;
  /** The task that the worker must begin before its time is up. */
  private awaited = 0;
  private ending: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly workers: Workers) {}

  /** Asks a question in place of the one before. A worker that does not turn to it soon is replaced. */
  ask(task: Task, answer: Answer): void {
    const isBusy = this.asked !== undefined;
    this.asked = { task, answer };
    this.post(task);
    if (isBusy && this.ending === undefined) this.hurry();
  }

  /** Ends the work on the last question. */
  cancel(): void {
    if (this.asked === undefined) return;
    this.asked = undefined;
    this.replace();
  }

  private post(task: Task): void {
    this.worker ??= this.taken();
    this.worker.postMessage({ id: ++this.id, task } satisfies ToWorker);
  }

  private taken(): Worker {
    const worker = this.workers.take();
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.asked?.answer.part({
        part: 'refused',
        of: this.asked.task.kind,
        message: `The simulator failed: ${event.message || 'worker.js could not be loaded'}`,
      });
      this.end();
      this.replace();
    };
    return worker;
  }

  private receive(message: FromWorker): void {
    if (message.state === 'fetched') {
      this.workers.fetched(message.gpu);
      return;
    }
    if (message.id >= this.awaited) this.settle();
    // An older answer that comes in time is shown, too, so that answers follow a slider.
    if (message.state === 'part' && message.part.part !== 'catalogue') this.workers.answered();
    if (message.state === 'part') this.asked?.answer.part(message.part);
    if (message.id < this.id) {
      if (this.ending === undefined) this.hurry();
    } else if (message.state === 'done') this.end();
  }

  private end(): void {
    const asked = this.asked;
    this.asked = undefined;
    this.settle();
    asked?.answer.done();
  }

  private hurry(): void {
    this.awaited = this.id;
    this.ending = setTimeout(() => this.replace(), PATIENCE_MS);
  }

  private settle(): void {
    clearTimeout(this.ending);
    this.ending = undefined;
  }

  private replace(): void {
    this.settle();
    this.worker?.terminate();
    this.worker = undefined;
    if (this.asked) this.post(this.asked.task);
  }
}
