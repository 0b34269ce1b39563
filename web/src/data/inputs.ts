/** The inputs of a report, as the document has them. */
import { get, list, num, text, texts, type Json } from './json.js';

export type JsonKind =
  | 'run' | 'step' | 'sweep' | 'plan' | 'plan-rates' | 'saturate' | 'saturate-users' | 'compare' | 'validate';
export type CsvKind = 'requests' | 'steps' | 'windows' | 'sweep';

export interface Input {
  name: string;
  kind: string;
  /** The answer of a command. */
  json: Json;
  /** Text of a CSV, compressed and in base64. */
  gzip: string | undefined;
  /** Rows of the whole CSV. */
  rows: number | undefined;
  /** Indices of the rows that no other row beats. */
  pareto: number[];
  /** What the report leaves out of the CSV. */
  leftOut: string | undefined;
}

export interface Inputs {
  title: string;
  commands: string[];
  inputs: Input[];
}

/** Reads the block of the document that holds the inputs; without a readable one there are no inputs. */
export function readInputs(block: string | null | undefined): Inputs {
  let json: Json;
  try {
    json = JSON.parse(block ?? '');
  } catch {
    json = undefined;
  }
  return {
    title: text(json, 'title') ?? 'Report',
    commands: texts(json, 'commands'),
    inputs: list(json, 'inputs').map(readInput),
  };
}

function readInput(json: Json): Input {
  return {
    name: text(json, 'name') ?? 'input',
    kind: text(json, 'kind') ?? '',
    json: get(json, 'json'),
    gzip: text(json, 'gzip'),
    rows: num(json, 'rows'),
    pareto: list(json, 'pareto').filter((row): row is number => Number.isInteger(row)),
    leftOut: text(json, 'left_out'),
  };
}
