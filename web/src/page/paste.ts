/** What may be pasted in place of settings: a config.json or a scenario. */
import { check } from './check.js';
import type { Field, Settings } from './fields.js';
import { joinScenario, put, readLiteral, splitScenario, type Scenario } from './toml.js';

/** Returns the settings that a pasted text stands for, in place of `settings`. Throws a sentence for any other text. */
export function pasted(text: string, settings: Settings, fields: Field[]): Settings {
  if (text.trim() === '') throw new Error('Expected a config.json, a vllm serve command or a scenario, found nothing.');
  return /^\s*\{/.test(text) ? ofConfig(text, settings) : ofScenario(text, fields);
}

function ofConfig(text: string, settings: Settings): Settings {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new Error(`config.json: ${(error as Error).message}.`);
  }
  const { draft_tokens, draft_model, acceptance, dtype, kv_dtype, model, ...kept } = settings;
  return { ...kept, config: JSON.stringify(json) };
}

/** Returns the settings of a server that a command starts, under the GPU, the load and the limits of `settings`. */
export function ofServer(scenario: string, settings: Settings, fields: Field[]): Settings {
  const stays = fields.filter(({ group, key }) => group === 'Load' || group === 'Limits' || key === 'gpu');
  const kept = stays.flatMap(({ key }) => (settings[key] === undefined ? [] : [[key, settings[key]] as const]));
  return { ...Object.fromEntries(kept), ...ofScenario(scenario, fields) };
}

/** Keys become settings where they have a control that takes their value; the rest goes to the other keys. */
export function ofScenario(text: string, fields: Field[]): Settings {
  const { tables, blocks } = splitScenario(text);
  const settings: Settings = {};
  const other: Scenario = { tables: new Map(), blocks };
  for (const [table, keys] of tables) {
    for (const [key, toml] of keys) {
      const field = fields.find((field) => field.table === table && field.key === key);
      const value = readLiteral(toml);
      const limits = key === 'goodput' && Array.isArray(value) ? simpleLimits(value) : undefined;
      const checked = field && check(field, given(field, value));
      if (limits) Object.assign(settings, limits);
      else if (!checked || 'wrong' in checked) put(other.tables, table, key, toml);
      else if (checked.value !== undefined) settings[key] = checked.value;
    }
  }
  if (settings.users !== undefined || tables.get('workload')?.has('users')) settings.load = 'users';
  const rest = joinScenario(other).trim();
  return rest === '' ? settings : { ...settings, other: rest };
}

/** Returns a value of a scenario as the control of its field takes it. */
function given(field: Field, value: ReturnType<typeof readLiteral>): unknown {
  if (field.kind === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) && field.kind === 'text' && field.isList ? value.join(' ') : String(value);
}

/** Returns limits that are all of the p99 of TTFT or TPOT in ms, as the page has them. */
function simpleLimits(goodput: string[]): Settings | undefined {
  const pairs = goodput.map((limit) => /^(ttft|tpot):(\d+(?:\.\d+)?)$/.exec(limit));
  const found = pairs.flatMap((pair) => (pair ? [[pair[1] as string, Number(pair[2])] as const] : []));
  const isBoth = found.length === goodput.length && found.length === 2 && found[0]?.[0] !== found[1]?.[0];
  return isBoth ? Object.fromEntries(found) : undefined;
}
