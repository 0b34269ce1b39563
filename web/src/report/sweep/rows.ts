/** Rows of a sweep: its keys, its figures and the rows that failed. */
import type { Csv } from '../../data/csv.js';
import { groupBy } from '../../data/group.js';

/** A key of the grid. */
export interface Key {
  name: string;
  cells: string[];
  /** Its values, in the order of the rows. */
  values: string[];
  /** The column as numbers, if every value is one. */
  numbers: Float64Array | undefined;
}

/** Keys of the load; the others are those of the deployment. */
const LOAD = new Set([
  'rate', 'arrival', 'burstiness', 'users', 'requests', 'warm_up', 'prompt', 'output', 'cached_prompt',
  'prefix_hit_rate', 'prefixes', 'turns', 'think_time', 'patience', 'retries', 'priorities', 'seed', 'seeds', 'trace',
  'trace_format', 'columns', 'trace_speed', 'trace_requests', 'trace_duration', 'conditions',
]);

export class Sweep {
  readonly csv: Csv;
  /** Keys that the sweep varies. */
  readonly keys: Key[];
  /** Rows with a reason why they have no figures. */
  readonly failed: number[];

  constructor(csv: Csv) {
    this.csv = csv;
    const [from, to] = [csv.names.indexOf('schema_version') + 1, csv.names.indexOf('gpus')];
    const names = csv.names.slice(from, Math.max(from, to));
    this.keys = names.map((name) => keyOf(csv, name)).filter((key) => key.values.length > 1 || names.length === 1);
    const errors = csv.texts('error');
    this.failed = errors.flatMap((error, row) => error === '' ? [] : [row]);
  }

  /** Returns the rows with these values in the column `index`, which are not their positions in a part of a sweep. */
  rowsOf(indices: number[]): number[] {
    const wanted = new Set(indices);
    const column = this.csv.numbers('index') ?? [];
    return Array.from(column, (index, row) => wanted.has(index) ? row : -1).filter((row) => row >= 0);
  }

  /** Returns the keys that tell deployments apart. */
  deployment(): Key[] {
    return this.keys.filter((key) => !LOAD.has(key.name));
  }

  /** Returns the keys of the load. */
  load(): Key[] {
    return this.keys.filter((key) => LOAD.has(key.name));
  }

  /** Whether a cell of a column is a number. */
  hasFigure(name: string): boolean {
    return this.csv.has(name) && this.csv.find(name, (cell) => cell !== '' && Number.isFinite(Number(cell))) >= 0;
  }

  /** Returns a column, if one of its cells is a number. */
  figure(name: string): Float64Array | undefined {
    return this.hasFigure(name) ? this.csv.numbers(name) : undefined;
  }
}

function keyOf(csv: Csv, name: string): Key {
  const cells = csv.texts(name);
  const values = [...new Set(cells)];
  const isNumeric = values.every((value) => value !== '' && Number.isFinite(Number(value)));
  return { name, cells, values, numbers: isNumeric ? csv.numbers(name) : undefined };
}

/** Returns the values of keys in a row: `gpu h100, tp 2`. */
export function described(keys: Key[], row: number): string {
  return keys.map((key) => `${key.name} ${key.cells[row] ?? ''}`).join(', ');
}

/** Returns rows by the values that they have for `keys`, in the order of the rows. */
export function grouped(rows: Iterable<number>, keys: Key[]): Map<string, number[]> {
  return groupBy(rows, (row) => described(keys, row));
}
