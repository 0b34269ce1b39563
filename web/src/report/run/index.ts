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

/** A CSV with what the report leaves out of it. */
export interface File {
  csv: Csv;
  leftOut: string | undefined;
}

/** CSV files of a run. */
export interface RunFiles {
  requests?: File;
  steps?: File;
  windows?: File;
}

export function runSection(run: Json, files: RunFiles): Child[] {
  const words = text(run, 'command');
  return [
    ...runAnswer(run),
    deployment(run),
    words !== undefined && command(words),
    latencies(run),
    overTime(run, files.windows?.csv),
    requestsGroup(files.requests),
    files.steps && stepsGroup(files.steps),
    shares(run),
    served(run),
  ];
}

export function requestsGroup(file: File | undefined): HTMLElement | undefined {
  const missing = (): HTMLElement[] => [absent('Requests one by one are not in this report.', 'Run again with ', '--requests-out requests.csv')];
  return group('Requests', ...(file ? requestTimeline(file.csv, file.leftOut) : missing()));
}

export function stepsGroup(file: File): HTMLElement | undefined {
  return group('Steps', ...stepCharts(file.csv, file.leftOut));
}

/** Returns windows that came without the report of their run. */
export function windowsGroup(file: File): HTMLElement | undefined {
  return overTime(undefined, file.csv);
}
