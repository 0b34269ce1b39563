/** Commands of `vllm serve`, as they are pasted. */
import { joinScenario, literal, put, type Scenario } from './toml.js';

/** Whether a text has such a command. */
export function isVllm(text: string): boolean {
  return COMMAND.test(text);
}

const COMMAND = /(?:^|[\s;&|'"])vllm\s+serve(?=\s)/;

/** Returns the words after `vllm serve`, up to the end of the command, as a shell divides them. */
export function vllmWords(text: string): string[] {
  const found = COMMAND.exec(text);
  const rest = found ? text.slice(found.index + found[0].length) : '';
  const words: string[] = [];
  let word: string | undefined;
  for (const [part] of rest.matchAll(/\\\r?\n|\\.|'[^']*'|"(?:\\.|[^"\\])*"|\s+|./gs)) {
    if (/^\s/.test(part) || /^\\\r?\n$/.test(part)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      // An end of line ends the command, unless a backslash stands before it.
      if (part.includes('\n') && !part.startsWith('\\')) break;
    } else if (/^[;&|<>#()]$/.test(part) && (word === undefined || part !== '#')) break;
    else word = (word ?? '') + bare(part);
  }
  return word === undefined ? words : [...words, word];
}

function bare(part: string): string {
  if (part.startsWith("'") && part.length > 1) return part.slice(1, -1);
  if (part.startsWith('"') && part.length > 1) return part.slice(1, -1).replace(/\\(["\\$`])/g, '$1');
  return part.length === 2 && part.startsWith('\\') ? part.slice(1) : part;
}

/** Returns the keys that the library read as a scenario. */
export function vllmScenario(tables: Record<string, Record<string, unknown>>): string {
  const scenario: Scenario = { tables: new Map(), blocks: [] };
  for (const [table, keys] of Object.entries(tables)) {
    for (const [key, value] of Object.entries(keys)) {
      if (value !== null) put(scenario.tables, table === 'target' ? '' : table, key, literal(value as string));
    }
  }
  return joinScenario(scenario);
}
