/** The command that repeats the answer of a scenario. */
import { readLiteral, splitScenario } from './toml.js';

/** Returns `rooflut run` with a flag for each key; `undefined` where the scenario has tables that are no flags. */
export function runCommand(scenario: string): string | undefined {
  const { tables, blocks } = splitScenario(scenario);
  if (blocks.length > 0) return undefined;
  const flags = [...tables.values()].flatMap((keys) => [...keys].map(([key, toml]) => {
    const value = readLiteral(toml);
    const values = Array.isArray(value) ? value : [String(value ?? toml)];
    return `--${key.replaceAll('_', '-')} ${values.map(quoted).join(' ')}`;
  }));
  return ['rooflut run', ...flags.map((flag) => flag.replace('--expert-parallel true', '--expert-parallel'))].join(' ');
}

function quoted(word: string): string {
  return /^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
