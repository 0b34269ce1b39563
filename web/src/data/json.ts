/** Reads parsed JSON of unknown shape: a missing key or another type is `undefined`, never an exception. */

export type Json = unknown;

/** Returns the value at a path of keys with dots between them. */
export function get(json: Json, path: string): Json {
  let value = json;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, Json>)[key];
  }
  return value;
}

/** No quantity is larger; axes could not hold the largest numbers that JSON can write. */
const LARGEST = 1e30;

function isNumber(value: Json): value is number {
  return typeof value === 'number' && Math.abs(value) < LARGEST;
}

/** Returns a number. */
export function num(json: Json, path: string): number | undefined {
  const value = get(json, path);
  return isNumber(value) ? value : undefined;
}

/** Returns a text that is not empty. */
export function text(json: Json, path: string): string | undefined {
  const value = get(json, path);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Whether the value is `true`. */
export function truth(json: Json, path: string): boolean {
  return get(json, path) === true;
}

/** Returns the elements of an array; none where there is no array. */
export function list(json: Json, path: string): Json[] {
  const value = path === '' ? json : get(json, path);
  return Array.isArray(value) ? value : [];
}

/** Returns the texts of an array. */
export function texts(json: Json, path: string): string[] {
  return list(json, path).filter((value) => typeof value === 'string');
}

/** Returns the keys of an object with their values; none where there is no object. */
export function entries(json: Json, path: string): [string, Json][] {
  const value = get(json, path);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** Returns the numbers of an object by key. */
export function numbers(json: Json, path: string): [string, number][] {
  return entries(json, path).filter((entry): entry is [string, number] => isNumber(entry[1]));
}

/** Whether there is an object or array at the path. */
export function has(json: Json, path: string): boolean {
  const value = get(json, path);
  return typeof value === 'object' && value !== null;
}
