import { KINDS, RooflutError } from "./error.js";
import { Arguments, type Exports, Trap, Unavailable, entered } from "./memory.js";
import { type Rows, write } from "./rows.js";

const ERROR_BYTES = 1024;
const decoder = new TextDecoder();

type Call = (...args: (number | bigint)[]) => number;

/** Returns the module with the functions that few calls need. */
export type Rest = () => WebAssembly.Module;

/** The library in memory. A panic ends the instance of WebAssembly; a new one takes its place. */
export class Instance {
  readonly #module: WebAssembly.Module;
  readonly #rest: Rest;
  #exports: Exports;
  readonly #sets = new Map<number, Rows>();
  readonly #files = new Map<string, Uint8Array>();
  /** Counts the instances: handles of an earlier one name nothing in this one. */
  epoch = 0;

  constructor(module: WebAssembly.Module, rest: Rest) {
    this.#module = module;
    this.#rest = rest;
    this.#exports = this.#start();
  }

  /** Calls `name` with the arguments that `prepare` returns, and an error after them. */
  call<T>(name: string, prepare: (args: Arguments) => readonly [(number | bigint)[], () => T]): T {
    return this.#guarded((args) => {
      const [given, result] = prepare(args);
      this.#checked(args, name, given);
      return result();
    });
  }

  /** Calls `name`, whose last result is a text, and returns the text. */
  text(name: string, prepare: (args: Arguments) => (number | bigint)[]): string {
    return this.using(this.handle(name, prepare), (handle) =>
      this.#guarded((args) => {
        const length = args.zeros(4);
        this.#checked(args, "rooflut_text_read", [handle, 0, 0, length]);
        const bytes = args.struct(length).u32(0);
        const buffer = args.zeros(bytes);
        this.#checked(args, "rooflut_text_read", [handle, buffer, bytes, length]);
        return this.#string(buffer, bytes);
      }),
    );
  }

  /** Uses an object and frees it, unless a trap ended it. */
  using<T>(handle: bigint, use: (handle: bigint) => T): T {
    const epoch = this.epoch;
    try {
      return use(handle);
    } finally {
      if (this.epoch === epoch) this.free(handle);
    }
  }

  /** Calls `name`, whose last result is an object, and returns its handle. */
  handle(name: string, prepare: (args: Arguments) => (number | bigint)[]): bigint {
    return this.call(name, (args) => {
      const out = args.zeros(8);
      return [[...prepare(args), out], () => args.struct(out).u64(0)];
    });
  }

  free(handle: bigint): void {
    this.#guarded((args) => this.#checked(args, "rooflut_free", [handle]));
  }

  version(): string {
    return this.#untilZero(this.#exports.rooflut_version());
  }

  /** Returns the name of a number by a function such as `rooflut_part_name`. */
  name(name: string, number: number): string {
    return this.#untilZero((this.#exports[name] as Call)(number));
  }

  /** Reads words after `vllm serve`, and returns JSON. */
  vllm(words: readonly string[]): string {
    return this.#guarded((args) => {
      const isRead = this.#exports.rooflut_wasm_vllm(...args.text(words.join("\n")));
      const answer = this.#string(this.#exports.rooflut_wasm_vllm_answer(), this.#exports.rooflut_wasm_vllm_length());
      if (isRead !== 1) throw new RooflutError("refused", answer);
      return answer;
    });
  }

  keepFile(path: string, contents: Uint8Array): void {
    this.#guarded((args) => this.#writeFile(this.#exports, args, path, contents));
    this.#files.set(path, contents);
  }

  /** Writes the rows of a set, by its place among all, to their places. */
  keepRows(set: number, rows: Rows): void {
    this.#sets.set(set, rows);
    this.#writeRows(this.#exports, set, rows);
  }

  /** Returns the place of the set that was asked for first without its rows. */
  takeWanted(): number | undefined {
    const set = this.#exports.rooflut_wasm_take_wanted();
    return set < 0 ? undefined : set;
  }

  #start(): Exports {
    const placeholder = new Proxy({}, { get: (_, place) => this.#placeholder(Number(place), () => exports) });
    const exports = new WebAssembly.Instance(this.#module, { placeholder }).exports as unknown as Exports;
    exports.rooflut_wasm_start();
    for (const [set, rows] of this.#sets) this.#writeRows(exports, set, rows);
    for (const [path, contents] of this.#files) {
      const args = new Arguments(exports);
      this.#writeFile(exports, args, path, contents);
      args.free();
    }
    return exports;
  }

  /** Returns what stands for a function of the rest: the first call of one puts all of them into the table. */
  #placeholder(place: number, exports: () => Exports): (...given: unknown[]) => unknown {
    return (...given) => {
      const primary = exports();
      let rest: WebAssembly.Module;
      try {
        rest = this.#rest();
      } catch (error) {
        throw new Unavailable(error);
      }
      new WebAssembly.Instance(rest, { primary: primary as unknown as WebAssembly.ModuleImports });
      return primary.table.get(place)(...given);
    };
  }

  #writeRows(exports: Exports, set: number, rows: Rows): void {
    write(rows, exports.memory);
    exports.rooflut_wasm_set_present(set);
  }

  #writeFile(exports: Exports, args: Arguments, path: string, contents: Uint8Array): void {
    const given = [...args.text(path), ...args.bytes(contents)] as const;
    entered(() => exports.rooflut_wasm_keep_file(...given));
  }

  #checked(args: Arguments, name: string, given: (number | bigint)[]): void {
    const error = args.zeros(ERROR_BYTES);
    const code = entered(() => (this.#exports[name] as Call)(...given, error));
    if (code !== 0) throw new RooflutError(KINDS[code] ?? "unknown", this.#untilZero(error + 4));
  }

  /** Runs `work`; a trap is an error after which there is a new instance, other exceptions pass. */
  #guarded<T>(work: (args: Arguments) => T): T {
    const args = new Arguments(this.#exports);
    let result: T;
    try {
      result = work(args);
    } catch (error) {
      if (error instanceof Trap) throw this.#replaced(error);
      args.free();
      throw error;
    }
    args.free();
    return result;
  }

  #replaced(trap: Trap): unknown {
    const error = trap instanceof Unavailable ? trap.reason : this.#defect(trap);
    this.#exports = this.#start();
    this.epoch += 1;
    return error;
  }

  #defect(trap: Trap): RooflutError {
    const { rooflut_wasm_panic_message: message, rooflut_wasm_panic_length: length } = this.#exports;
    const cause = this.#string(message(), length()) || trap.message;
    return new RooflutError("panic", `a defect of rooflut, or too little memory: ${cause}; report it with the input`);
  }

  #string(pointer: number, length: number): string {
    return decoder.decode(new Uint8Array(this.#exports.memory.buffer, pointer >>> 0, length));
  }

  #untilZero(pointer: number): string {
    const bytes = new Uint8Array(this.#exports.memory.buffer, pointer);
    return this.#string(pointer, bytes.indexOf(0));
  }
}
