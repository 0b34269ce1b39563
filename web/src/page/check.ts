/** Checks values of settings, from controls and from addresses alike. */
import type { Field, Value } from './fields.js';

/** Characters of a text that the page keeps. */
export const LONGEST_TEXT = 20_000;

/** A value, `undefined` for the initial one, or the sentence that says what is wrong. */
export type Checked = { value: Value | undefined } | { wrong: string };

/** Checks what was typed into the control of a field, or a value of unknown type. */
export function check(field: Field, given: unknown): Checked {
  switch (field.kind) {
    case 'number':
      return checkNumber(field.label, given, field);
    case 'length':
    case 'text':
      return checkText(field.label, given, field.initial);
    case 'choice':
      if (given === field.initial) return { value: undefined };
      return field.options.some(([value]) => value === given)
        ? { value: given as string }
        : wrong(field.label, `one of ${field.options.map(([, label]) => label).join(', ')}`, given);
    case 'switch':
      return typeof given === 'boolean' ? { value: given || undefined } : wrong(field.label, 'on or off', given);
    case 'names':
      return checkNames(field.label, given, field.options);
  }
}

interface Limits {
  min: number;
  max: number;
  whole?: boolean;
  initial?: number;
}

/** Numbers may be written as the command takes them: 1000, 1_000, 1e3. */
const NUMBER = /^[+]?(\d+(_\d+)*)?(\.\d*)?(e[+-]?\d+)?$/i;

function checkNumber(label: string, given: unknown, { min, max, whole, initial }: Limits): Checked {
  const words = typeof given === 'number' ? String(given) : typeof given === 'string' ? given.trim() : '?';
  if (words === '') return { value: undefined };
  const value = NUMBER.test(words) ? Number(words.replaceAll('_', '')) : NaN;
  const kind = whole ? 'a whole number' : 'a number';
  if (!Number.isFinite(value) || (whole && !Number.isInteger(value))) return wrong(label, kind, given);
  if (value < min || value > max) return wrong(label, `${kind} from ${min} to ${max}`, given);
  return { value: value === initial ? undefined : value };
}

function checkText(label: string, given: unknown, initial: string): Checked {
  if (typeof given !== 'string') return wrong(label, 'a text', given);
  if (given.length > LONGEST_TEXT)
    return { wrong: `${label}: expected at most ${LONGEST_TEXT} characters, found ${given.length}.` };
  const text = given.trim();
  return { value: text === initial || text === '' ? undefined : text };
}

function checkNames(label: string, given: unknown, options: string[]): Checked {
  if (!Array.isArray(given)) return wrong(label, 'a list of names', given);
  const unknown = given.find((name) => !options.includes(name));
  if (unknown !== undefined) return wrong(label, `some of ${options.join(', ')}`, unknown);
  const names = options.filter((name) => given.includes(name));
  return { value: names.length > 0 ? names : undefined };
}

function wrong(label: string, expected: string, found: unknown): Checked {
  const shown = JSON.stringify(found) ?? 'nothing';
  return { wrong: `${label}: expected ${expected}, found ${shown.length > 40 ? `${shown.slice(0, 40)}…` : shown}.` };
}
