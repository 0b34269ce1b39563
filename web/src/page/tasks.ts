/** What the page asks its workers, and what these answer. */
import type { Catalogue } from './fields.js';
import type { Deployment, FitsQuestion, PlanQuestion } from './questions.js';

export type Task =
  | { kind: 'catalogue' }
  /** A run, then its memory, a step, and the run with intervals, windows and its requests. */
  | { kind: 'run'; scenario: string; details: string; fits: FitsQuestion; config: string | undefined }
  | { kind: 'plan'; question: PlanQuestion; config: string | undefined }
  | { kind: 'front'; deployments: Deployment[]; config: string | undefined }
  /** Words after `vllm serve`, as a scenario. */
  | { kind: 'vllm'; words: string[] };

/** A part of an answer; texts are those that the command prints. */
export type Part =
  | { part: 'catalogue'; catalogue: Catalogue }
  | { part: 'run' | 'fits' | 'step' | 'details' | 'requests' | 'bounds' | 'plan' | 'scenario'; text: string }
  /** A row of the front; `at` is its place among the rows. */
  | { part: 'row'; at: number; text: string }
  /** A deployment that the front leaves out. */
  | { part: 'out'; deployment: string; reason: string }
  | { part: 'refused'; of: string; message: string };

/** Messages to a worker. */
export type ToWorker =
  /** The compiled library. */
  | { start: WebAssembly.Module }
  /** What it leaves out, compiled. */
  | { rest: WebAssembly.Module }
  /** GPUs whose tables to fetch beforehand. */
  | { gpus: string[] }
  | { id: number; task: Task };

/** Messages of a worker about a task. */
export type FromWorker =
  | { id: number; state: 'begun' | 'done' }
  | { id: number; state: 'part'; part: Part }
  /** Tables that were fetched, so that other workers fetch them beforehand. */
  | { state: 'fetched'; gpu: string };
