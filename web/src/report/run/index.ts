/** The section of a run, with the files that were written beside its report. */
import type { Csv } from '../../data/csv.js';
import { text, type Json } from '../../data/json.js';
import { absent, command, group, type Child } from '../dom.js';
import { runAnswer } from './answer.js';
import { deployment } from './deployment.js';
import { latencies } from './latencies.js';
import { overTime } from './over_time.js';
import { requestTimeline } from './requests.js';
import { served } from './served.js';
import { shares } from './shares.js';
import { stepCharts } from './steps.js';

/** Rows of a file, or the sentence that says why they are not there. */
export type Rows = Csv | HTMLElement;

/** CSV files of a run. */
export interface RunFiles {
  requests?: Rows;
  steps?: Rows;
  windows?: Rows;
}

export function runSection(run: Json, files: RunFiles): Child[] {
  const words = text(run, 'command');
  return [
    ...runAnswer(run),
    deployment(run),
    words !== undefined && command(words),
    latencies(run),
    windowsGroup(run, files.windows),
    requestsGroup(files.requests),
    files.steps && stepsGroup(files.steps),
    shares(run),
    served(run),
  ];
}

export function requestsGroup(rows: Rows | undefined): HTMLElement | undefined {
  const shown =
    rows ?? absent('Requests one by one are not in this report.', 'Run again with ', '--requests-out requests.csv');
  return group('Requests', ...(shown instanceof HTMLElement ? [shown] : requestTimeline(shown)));
}

export function stepsGroup(rows: Rows): HTMLElement | undefined {
  return group('Steps', ...(rows instanceof HTMLElement ? [rows] : stepCharts(rows)));
}

/** Returns a run over time, from the file of its windows if there is one. */
export function windowsGroup(run: Json, rows: Rows | undefined): HTMLElement | undefined {
  return group('Over time', ...(rows instanceof HTMLElement ? [rows] : overTime(run, rows)));
}
