import { refused } from "./value.js";

/** The functions that the WebAssembly module exports: those of the C interface, and a few beside it. */
export interface Exports {
  readonly memory: WebAssembly.Memory;
  /** Functions that are called through it; those of the rest are placeholders until it is here. */
  readonly table: WebAssembly.Table;
  rooflut_wasm_start(): void;
  rooflut_wasm_allocate(length: number): number;
  rooflut_wasm_free(pointer: number, length: number): void;
  rooflut_wasm_keep_file(path: number, pathLength: number, contents: number, contentsLength: number): void;
  rooflut_wasm_set_present(set: number): void;
  rooflut_wasm_take_wanted(): number;
  rooflut_wasm_panic_message(): number;
  rooflut_wasm_panic_length(): number;
  rooflut_wasm_vllm(words: number, length: number): number;
  rooflut_wasm_vllm_answer(): number;
  rooflut_wasm_vllm_length(): number;
  rooflut_free(handle: bigint, error: number): number;
  rooflut_version(): number;
  rooflut_text_read(text: bigint, buffer: number, capacity: number, length: number, error: number): number;
  readonly [name: string]: unknown;
}

const utf8 = new TextEncoder();

/** The end of an instance: too little memory, or an exception in the module, whose memory is then unknown. */
export class Trap extends Error {}

/** The end of an instance that called a function of the rest, which could not be had. */
export class Unavailable extends Trap {
  constructor(readonly reason: unknown) {
    super("the rest of the module is not here");
  }
}

/** Calls a function of the module. A stack that overflows in it is no `WebAssembly.RuntimeError`, but a trap too. */
export function entered<T>(call: () => T): T {
  try {
    return call();
  } catch (cause) {
    throw cause instanceof Unavailable ? cause : new Trap(String(cause));
  }
}

/** Memory for the arguments of one call, freed after it. */
export class Arguments {
  readonly #exports: Exports;
  readonly #allocated: [number, number][] = [];

  constructor(exports: Exports) {
    this.#exports = exports;
  }

  /** Returns the address of `length` zeros. */
  zeros(length: number): number {
    // The module takes lengths modulo 2^32, and its addresses from 2 GiB come as negative numbers.
    const pointer = length < 2 ** 32 ? entered(() => this.#exports.rooflut_wasm_allocate(length)) >>> 0 : 0;
    if (pointer === 0) throw new Trap(`expected memory for ${length} bytes, found none`);
    this.#allocated.push([pointer, length]);
    return pointer;
  }

  /** Returns address and length of a copy of bytes. */
  bytes(bytes: Uint8Array): [number, number] {
    const pointer = this.zeros(bytes.length);
    new Uint8Array(this.#exports.memory.buffer).set(bytes, pointer);
    return [pointer, bytes.length];
  }

  /** Returns address and length of a text. */
  text(text: string): [number, number] {
    return this.bytes(utf8.encode(text));
  }

  /** Returns the address of entries of `size` bytes, written by `write`; 0 if there are none. Errors name `field`. */
  array<T>(
    field: string,
    entries: readonly T[],
    size: number,
    write: (struct: Struct, entry: T, field: string) => void,
  ): number {
    if (!Array.isArray(entries)) throw refused(field, "an array", entries);
    if (entries.length === 0) return 0;
    const first = this.zeros(entries.length * size);
    entries.forEach((entry, index) => write(this.struct(first + index * size), entry, `${field}[${index}]`));
    return first;
  }

  /** Returns a struct at an address. */
  struct(pointer: number): Struct {
    return new Struct(this.#exports.memory, pointer);
  }

  free(): void {
    for (const [pointer, length] of this.#allocated) this.#exports.rooflut_wasm_free(pointer, length);
  }
}

/** A struct in memory. Fields are named by their offsets. */
export class Struct {
  readonly #memory: WebAssembly.Memory;
  readonly pointer: number;

  constructor(memory: WebAssembly.Memory, pointer: number) {
    this.#memory = memory;
    this.pointer = pointer;
  }

  // A view ends when memory grows.
  get #view(): DataView {
    return new DataView(this.#memory.buffer, this.pointer);
  }

  u32(offset: number): number {
    return this.#view.getUint32(offset, true);
  }

  u64(offset: number): bigint {
    return this.#view.getBigUint64(offset, true);
  }

  f64(offset: number): number {
    return this.#view.getFloat64(offset, true);
  }

  /** A number that is exact up to 2^53; nanoseconds of 104 days. */
  number(offset: number): number {
    return Number(this.u64(offset));
  }

  setU32(offset: number, value: number): void {
    this.#view.setUint32(offset, value, true);
  }

  setU64(offset: number, value: bigint): void {
    this.#view.setBigUint64(offset, value, true);
  }

  setText(offset: number, [pointer, length]: [number, number]): void {
    this.setU32(offset, pointer);
    this.setU32(offset + 4, length);
  }
}
