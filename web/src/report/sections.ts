/** Sections of a report, one for each input. */
import { Csv } from '../data/csv.js';
import { inflate } from '../data/inflate.js';
import type { Input } from '../data/inputs.js';
import { list, type Json } from '../data/json.js';
import { fixed } from '../data/number.js';
import { compareSection } from './compare.js';
import { absent, type Child } from './dom.js';
import { planSection } from './plan.js';
import { planRatesSection } from './plan_rates.js';
import { requestsGroup, runSection, stepsGroup, windowsGroup, type Rows, type RunFiles } from './run/index.js';
import { saturateSection, saturateUsersSection } from './saturate.js';
import { stepSection } from './step.js';
import { sweepSection } from './sweep/index.js';
import { validateSection } from './validate.js';

/** A section: the input that it is about, and those that belong to it. */
export interface Section {
  input: Input;
  files: Input[];
}

const OF_RUN = ['requests', 'steps', 'windows'] as const;
type OfRun = (typeof OF_RUN)[number];
const isOfRun = (kind: string): kind is OfRun => (OF_RUN as readonly string[]).includes(kind);

const JSON_SECTIONS: Record<string, (json: Json) => Child[]> = {
  step: stepSection,
  plan: planSection,
  'plan-rates': planRatesSection,
  saturate: saturateSection,
  'saturate-users': saturateUsersSection,
  compare: compareSection,
  validate: validateSection,
};

/** Divides inputs into sections. Files of requests, steps and windows join the run, if there is just one. */
export function sections(inputs: Input[]): Section[] {
  const runs = inputs.filter((input) => input.kind === 'run');
  const files = runs.length === 1 ? firstOfEach(inputs) : [];
  return inputs
    .filter((input) => !files.includes(input))
    .map((input) => ({ input, files: input === runs[0] ? files : [] }));
}

/** Returns the first file of each kind that belongs to a run. */
function firstOfEach(inputs: Input[]): Input[] {
  return OF_RUN.flatMap((kind) => inputs.find((input) => input.kind === kind) ?? []);
}

/** Returns the contents of a section. */
export async function contents({ input, files }: Section): Promise<Child[]> {
  if (input.kind === 'run') return runSection(input.json, await runFiles(input.json, files));
  const ofJson = Object.hasOwn(JSON_SECTIONS, input.kind) ? JSON_SECTIONS[input.kind] : undefined;
  if (ofJson) return ofJson(input.json);
  if (input.kind !== 'sweep' && !isOfRun(input.kind))
    return [absent('This report does not know the kind of this input.', 'Make it again with this version of rooflut.')];
  const rows = await rowsOf(input);
  if (input.kind === 'sweep') return rows instanceof Csv ? sweepSection(rows, input.pareto) : [rows];
  if (input.kind === 'requests') return [requestsGroup(rows)];
  return [input.kind === 'steps' ? stepsGroup(rows) : windowsGroup(undefined, rows)];
}

async function runFiles(run: Json, inputs: Input[]): Promise<RunFiles> {
  const files: RunFiles = {};
  const areWindows = (it: Input): boolean => it.kind === 'windows' && it.maxRows === undefined;
  const hasWindows = list(run, 'windows').length > 0 || inputs.some(areWindows);
  for (const input of inputs) {
    if (isOfRun(input.kind)) files[input.kind] = await rowsOf(input, hasWindows);
  }
  return files;
}

/** Returns the rows of an input, or the sentence that says why they are not there. */
async function rowsOf({ kind, deflate, rows, maxRows }: Input, hasWindows = false): Promise<Rows> {
  if (maxRows !== undefined) {
    const found = `The file has ${fixed(rows ?? NaN, 0)} rows, and a report holds at most ${fixed(maxRows, 0)}.`;
    if (kind === 'sweep') return absent(found, 'Divide the sweep, as with --shard.');
    if (kind === 'windows') return absent(found, 'Run again with longer windows, as with ', '--windows 10s');
    if (hasWindows) return absent(found, 'The charts over time show all of them.');
    return absent(found, 'To see all of them over time, run again with ', '--windows auto');
  }
  try {
    return new Csv(await inflate(deflate ?? ''));
  } catch {
    // The block is cut off, or is no base64 of deflate.
    return absent('The file could not be read.', 'Make the report again.');
  }
}
