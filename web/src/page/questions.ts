/** The questions that the settings ask: scenarios in TOML, with what else each search takes. */
import { fields, setting, type Catalogue, type Field, type Settings } from './fields.js';
import { copy, joinScenario, literal, put, splitScenario, type Scenario } from './toml.js';

export interface Questions {
  /** Scenario of `rooflut run`. */
  run: string;
  /** The same with intervals, windows and quantiles. */
  details: string;
  fits: FitsQuestion;
  plan: PlanQuestion;
  front: Deployment[];
  /** Text of a config.json that replaces the model. */
  config: string | undefined;
}

/** A deployment of the front, with its scenario but for the load. */
export interface Deployment {
  gpu: string;
  tp: number;
  pp: number;
  dp: number;
  scenario: Scenario;
}

export interface FitsQuestion {
  scenario: string;
  /** Requests that should fit, the flags of `rooflut fits`. */
  wanted: { batch: number; context?: number };
}

export interface PlanQuestion {
  scenario: string;
  /** Limits and choices of the plan, the flags of `rooflut plan`. */
  wanted: {
    goodput: string[];
    max_gpus: number;
    gpu: string[];
    tp: number[];
    dp?: number[];
    pp?: number[];
    expert_parallel?: boolean[];
  };
}

/** Name of the file in a scenario that takes a config.json. */
export const CONFIG_FILE = 'config.json';

const DEGREES = [1, 2, 4, 8];
/** Keys of `[output]` that a run in detail has. */
const DETAILS: [key: string, value: string][] = [
  ['interval', '0.8'],
  ['windows', '"auto"'],
  ['quantiles', 'true'],
];

/** Returns the questions. Throws what is wrong with the other keys in TOML. */
export function questions(settings: Settings, catalogue: Catalogue): Questions {
  const all = fields(catalogue);
  const scenario = base(settings, all);
  const of = (key: string): unknown => setting(settings, all.find((field) => field.key === key) as Field);
  const goodput = [`ttft:${of('ttft')}`, `tpot:${of('tpot')}`];
  const [maxGpus, gpu] = [of('max_gpus') as number, of('gpu') as string];
  const gpus = [gpu, ...((settings.gpus as string[] | undefined) ?? []).filter((name) => name !== gpu)];

  const run = copy(scenario);
  if (!run.tables.get('output')?.has('goodput')) put(run.tables, 'output', 'goodput', literal(goodput));

  const details = copy(run);
  for (const [key, value] of DETAILS) {
    if (!details.tables.get('output')?.has(key)) put(details.tables, 'output', key, value);
  }

  const fits = copy(scenario);
  drop(fits, ['tp', 'replicas']);
  const context = Number(of('prompt')) + Number(of('output'));
  const demand = Number.isInteger(context) ? { batch: 1, context } : { batch: 1 };

  const plan = copy(scenario);
  drop(plan, ['requests', 'replicas', 'gpu', 'tp', 'goodput', 'windows', 'interval', 'quantiles']);
  const wanted: PlanQuestion['wanted'] = {
    goodput,
    max_gpus: maxGpus,
    gpu: gpus,
    tp: DEGREES.filter((tp) => tp <= maxGpus),
  };
  for (const key of ['dp', 'pp'] as const) {
    if (settings[key] !== undefined) wanted[key] = [Number(settings[key])];
  }

  const swept = copy(scenario);
  drop(swept, ['rate', 'arrival', 'replicas', 'goodput', 'windows', 'interval', 'quantiles']);
  const front = gpus.flatMap((name) =>
    splits(maxGpus).map(([tp, pp, dp]): Deployment => {
      const one = copy(swept);
      for (const [key, value] of Object.entries({ gpu: name, tp, pp, dp })) put(one.tables, '', key, literal(value));
      return { gpu: name, tp, pp, dp, scenario: one };
    }),
  );
  const config = settings.config as string | undefined;
  return {
    run: joinScenario(run),
    details: joinScenario(details),
    fits: { scenario: joinScenario(fits), wanted: demand },
    plan: { scenario: joinScenario(plan), wanted },
    front,
    config,
  };
}

/** Returns the scenario of the settings, with the other keys in place of those of controls. */
function base(settings: Settings, all: Field[]): Scenario {
  const other = splitScenario((settings.other as string | undefined) ?? '');
  const scenario: Scenario = { tables: new Map(), blocks: other.blocks };
  for (const field of all) {
    const value = field.always ? setting(settings, field) : settings[field.key];
    const isMeant = field.shown?.(settings) ?? true;
    if (field.table === 'page' || value === undefined || value === '' || !isMeant) continue;
    const written =
      field.kind === 'choice' && field.numeric
        ? Number(value)
        : field.kind === 'text' && field.isList
          ? String(value).split(/[\s,]+/)
          : field.kind === 'length' && /^[\d_]+$/.test(String(value))
            ? Number(String(value).replaceAll('_', ''))
            : value;
    put(scenario.tables, field.table, field.key, literal(written));
  }
  if (settings.config !== undefined) put(scenario.tables, '', 'model', literal(CONFIG_FILE));
  for (const [table, keys] of other.tables) for (const [key, value] of keys) put(scenario.tables, table, key, value);
  return scenario;
}

/** Returns the ways to divide a server over up to `most` GPUs: tp, pp and dp, the fewest stages first. */
function splits(most: number): [tp: number, pp: number, dp: number][] {
  const upTo = (last: number): number[] => Array.from({ length: Math.floor(last) }, (_, index) => index + 1);
  return upTo(most).flatMap((pp) =>
    upTo(most / pp).flatMap((dp) => upTo(most / pp / dp).map((tp): [number, number, number] => [tp, pp, dp])),
  );
}

function drop({ tables }: Scenario, names: string[]): void {
  for (const keys of tables.values()) for (const name of names) keys.delete(name);
}
