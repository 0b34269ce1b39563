/** The inputs of a report, as the document has them. */
import { get, list, num, text, type Json } from './json.js';

export interface Input {
  name: string;
  kind: string;
  /** The answer of a command. */
  json: Json;
  /** Text of a CSV, compressed and in base64. */
  deflate: string | undefined;
  /** Rows of the CSV. */
  rows: number | undefined;
  /** The most rows of a CSV that a report holds, where this one has more and is left out. */
  maxRows: number | undefined;
  /** The column `index` of the rows that no other row beats. */
  pareto: number[];
}

export interface Inputs {
  title: string;
  /** The command that made the report. */
  command: string | undefined;
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
    command: text(json, 'command'),
    inputs: list(json, 'inputs').map(readInput),
  };
}

function readInput(json: Json): Input {
  return {
    name: text(json, 'name') ?? 'input',
    kind: text(json, 'kind') ?? '',
    json: get(json, 'json'),
    deflate: text(json, 'deflate'),
    rows: num(json, 'rows'),
    maxRows: num(json, 'max_rows'),
    pareto: list(json, 'pareto').filter((row): row is number => Number.isInteger(row)),
  };
}
