import { RooflutError } from "./error.js";

/** Returns a value as an unsigned number of 32 bits. `field` names it in the error. */
export function u32(field: string, value: number): number {
  return Number(whole(field, value, 32));
}

/** Returns a value as an unsigned number of 64 bits. `field` names it in the error. */
export function u64(field: string, value: number | bigint): bigint {
  return whole(field, value, 64);
}

/** Returns a value that is a number; whether it is in range, the library says. `field` names it in the error. */
export function f64(field: string, value: number): number {
  if (typeof value !== "number") throw refused(field, "a number", value);
  return value;
}

/** Returns the place of a value among those that `field` takes. */
export function oneOf(field: string, all: readonly string[], value: string): number {
  const place = all.indexOf(value);
  if (place < 0) throw refused(field, `one of ${all.join(", ")}`, value);
  return place;
}

function whole(field: string, value: number | bigint, bits: number): bigint {
  if (typeof value === "bigint" || Number.isInteger(value)) {
    const number = BigInt(value);
    if (number === BigInt.asUintN(bits, number)) return number;
  }
  throw refused(field, `a whole number from 0 to 2^${bits} - 1`, value);
}

/** Returns the error of a value that is not what `field` takes. */
export function refused(field: string, expected: string, value: unknown): RooflutError {
  return new RooflutError("value", `${field}: expected ${expected}, found ${shown(value)}`);
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  return typeof value === "object" && value !== null ? Object.prototype.toString.call(value) : String(value);
}
