import { RooflutError } from "./error.js";
import { Instance, type Rest } from "./instance.js";
import type { Arguments } from "./memory.js";
import { refused } from "./value.js";
import { read } from "./rows.js";
import { Lookup } from "./lookup.js";
import { Model } from "./model.js";
import { Owned } from "./owned.js";
import { Scenario } from "./scenario.js";

/** WebAssembly, compiled or not. */
export type Wasm =
  WebAssembly.Module | BufferSource | Response | PromiseLike<WebAssembly.Module | BufferSource | Response>;

/** Fetches the rows of a table set: the file `tables/NAME.bin` of the package. */
export type FetchTables = (name: string) => PromiseLike<ArrayBuffer | Uint8Array>;

/** Limits and choices of a plan, the flags of `rooflut plan`; without a list, the scenario has the only choice. */
export interface PlanOptions {
  /** Limits such as `"ttft:500"` or `"tpot:20@p95"`. */
  goodput: readonly string[];
  attainment?: number;
  confidence?: number;
  max_gpus?: number;
  count?: number;
  gpu?: readonly string[];
  tp?: readonly number[];
  dp?: readonly number[];
  pp?: readonly number[];
  expert_parallel?: readonly boolean[];
  dtype?: readonly string[];
  kv_dtype?: readonly string[];
  max_num_seqs?: readonly number[];
  max_num_batched_tokens?: readonly number[];
}

/** Limits of a search for a rate: the flags of `rooflut saturate`. */
export interface SaturateOptions {
  goodput?: readonly string[];
  attainment?: number;
  confidence?: number;
  tolerance?: number;
}

/** Requests that should fit at the same time: the flags of `rooflut fits`. */
export interface FitsOptions {
  batch?: number;
  context?: number;
}

/** The files of a model as Hugging Face has them. */
export interface ConfigFiles {
  /** Name of the model in reports and messages. */
  name: string;
  /** Text of `config.json`. */
  config: string;
  hf_quant_config?: string;
  generation_config?: string;
  /** Reads a file of any type as a Llama's. */
  assume_llama?: boolean;
}

/** Objects in place of the names in a scenario. */
export interface Objects {
  model?: Model;
  draft_model?: Model;
}

const OUTPUTS = ["report", "requests.csv", "steps.csv", "timeline"] as const;

/** `report` is what `rooflut run --json` prints. */
export type Output = (typeof OUTPUTS)[number];

export interface RunOptions extends Objects {
  output?: Output;
}

/**
 * The library. Methods that return a promise fetch the rows of the table sets that they need; others answer at once.
 *
 * Texts are those of the command, byte by byte.
 */
export class Rooflut {
  readonly #instance: Instance;
  readonly #fetchTables: FetchTables;
  readonly #build: number;
  readonly #loading = new Map<number, Promise<void>>();
  readonly #sets: readonly string[];

  /** `load` of the package is shorter. `rest` is called when a call needs what is not in `module`. */
  constructor(module: WebAssembly.Module, fetchTables: FetchTables, rest: Rest) {
    this.#build = buildOf(module, "rooflut.wasm");
    this.#instance = new Instance(module, () => this.#checked(rest()));
    this.#fetchTables = fetchTables;
    this.#sets = this.#list("rooflut_tables_names");
  }

  /** The version of the library. */
  get version(): string {
    return this.#instance.version();
  }

  /** Names of the built-in models. */
  models(): string[] {
    return this.#list("rooflut_model_names");
  }

  /** Names of the table sets, the values of the key `gpu`, whether their rows are here or not. */
  tables(): string[] {
    return [...this.#sets];
  }

  /** Names of the engine stacks, the values of the key `engine`. */
  engines(): string[] {
    return this.#list("rooflut_engine_names");
  }

  /** Fetches the rows of table sets before they are needed. */
  async loadTables(...names: string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#load(this.#place(name))));
  }

  /** Keeps the contents of a file: a trace, or a file of lengths or prices, that a scenario names by this path. */
  keepFile(path: string, contents: string | Uint8Array): void {
    const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
    // That of another realm is no instance of the class.
    if (bytes?.[Symbol.toStringTag] !== "Uint8Array") throw refused("contents", "a text or a Uint8Array", bytes);
    this.#instance.keepFile(path, bytes);
  }

  /**
   * Reads the words after `vllm serve` as keys of a scenario, by table: `{ target, server, ... }`, where `target` has the
   * keys above the first table. Keys that no flag sets are null.
   */
  readVllm(words: readonly string[]): Record<string, Record<string, unknown>> {
    return JSON.parse(this.#instance.vllm(words));
  }

  /** Reads a model. */
  readModel(files: ConfigFiles): Model {
    return new Model(this.#owned(Model.read(this.#instance, files)));
  }

  /** Returns a built-in model by its name or Hugging Face id. */
  model(name: string): Model {
    return new Model(this.#owned(this.#instance.handle("rooflut_model_find", (args) => [...args.text(name)])));
  }

  /** Checks a scenario, looks every kernel up and reads the load. */
  async scenario(toml: string, objects: Objects = {}): Promise<Scenario> {
    const instance = this.#instance;
    const handle = () => instance.handle("rooflut_scenario_new", (args) => [this.#source(args, toml, objects)]);
    return new Scenario(this.#owned(await this.#complete(handle, (handle) => instance.free(handle))));
  }

  /** Simulates a scenario. */
  async run(toml: string, options: RunOptions = {}): Promise<string> {
    const output = OUTPUTS.indexOf(options.output ?? "report");
    const instance = this.#instance;
    return this.#complete(() => {
      const scenario = instance.handle("rooflut_scenario_new", (args) => [this.#source(args, toml, options)]);
      return instance.using(scenario, () => instance.text("rooflut_scenario_run", () => [scenario, output, 0n]));
    });
  }

  /** Finds the deployments that meet limits under the load of a scenario. */
  async plan(toml: string, options: PlanOptions, objects: Objects = {}): Promise<string> {
    await this.#loadGpus(options);
    return this.#search("rooflut_plan", toml, options, objects, [0n]);
  }

  /**
   * Returns what step times alone say about a plan, in a fraction of its time: the fewest GPUs of each kind of server
   * that may meet the limits, and the kinds that cannot.
   */
  async planLeast(toml: string, options: PlanOptions, objects: Objects = {}): Promise<string> {
    await this.#loadGpus(options);
    return this.#search("rooflut_plan_least", toml, options, objects, []);
  }

  /** Finds the highest rate that the servers of a scenario serve within limits. */
  async saturate(toml: string, options: SaturateOptions = {}, objects: Objects = {}): Promise<string> {
    return this.#search("rooflut_saturate", toml, options, objects, [0n]);
  }

  /** Lists deployments of a model with the requests that each holds in memory. */
  async fits(toml: string, options: FitsOptions = {}, objects: Objects = {}): Promise<string> {
    return this.#search("rooflut_fits", toml, options, objects, []);
  }

  /** Compares two reports. */
  compare(a: string, b: string): string {
    return this.#instance.text("rooflut_compare", (args) => [...args.text(a), ...args.text(b)]);
  }

  /** Describes a table set: its GPU, source and measured operations. */
  async describeTables(name: string): Promise<string> {
    return this.#withTables(name, (tables) => this.#instance.text("rooflut_tables_describe", () => [tables]));
  }

  /** Finds a kernel in a table set: `lookup("h100", { gemm: { dtype: "bf16", k: 4096, n: 6144 } })`. */
  async lookup(tables: string, kernel: Readonly<Record<string, unknown>>): Promise<Lookup> {
    const text = JSON.stringify(kernel);
    const find = (set: bigint) => this.#instance.handle("rooflut_lookup_new", (args) => [set, ...args.text(text)]);
    return new Lookup(this.#owned(await this.#withTables(tables, find, (handle) => this.#instance.free(handle))));
  }

  /** Fetches the sets that a plan will ask for one after another, at the same time. */
  async #loadGpus({ gpu = [] }: PlanOptions): Promise<void> {
    await this.loadTables(...gpu.filter((name) => this.#sets.includes(name)));
  }

  #search(name: string, toml: string, options: object, objects: Objects, last: bigint[]): Promise<string> {
    const wanted = JSON.stringify(options);
    const arguments_ = (args: Arguments) => [this.#source(args, toml, objects), ...args.text(wanted), ...last];
    return this.#complete(() => this.#instance.text(name, arguments_));
  }

  #withTables<T>(name: string, use: (tables: bigint) => T, drop?: (unused: T) => void): Promise<T> {
    return this.#complete(() => {
      const tables = this.#instance.handle("rooflut_tables_find", (args) => [...args.text(name)]);
      return this.#instance.using(tables, use);
    }, drop);
  }

  /** Writes a `RooflutScenarioSource`. */
  #source(args: Arguments, toml: string, objects: Objects): number {
    const source = args.struct(args.zeros(32));
    source.setText(0, args.text(toml));
    source.setU64(8, objects.model?.handle ?? 0n);
    source.setU64(16, objects.draft_model?.handle ?? 0n);
    return source.pointer;
  }

  #list(name: string): string[] {
    return JSON.parse(this.#instance.text(name, () => []));
  }

  #owned(handle: bigint): Owned {
    return new Owned(this.#instance, handle, () => this.#missing());
  }

  /**
   * Works, and again with the rows of the sets that were asked for without, until all are here: an answer or an error
   * is that of the library with all sets.
   */
  async #complete<T>(work: () => T, drop: (unused: T) => void = () => {}): Promise<T> {
    for (;;) {
      let answer: { value: T } | { error: unknown };
      try {
        answer = { value: work() };
      } catch (error) {
        answer = { error };
      }
      const wanted = this.#instance.takeWanted();
      if (wanted === undefined) {
        if ("error" in answer) throw answer.error;
        return answer.value;
      }
      if ("value" in answer) drop(answer.value);
      await this.#load(wanted);
    }
  }

  /** The error of a call that asked for a set without its rows. */
  #missing(): RooflutError | undefined {
    const wanted = this.#instance.takeWanted();
    if (wanted === undefined) return undefined;
    const name = JSON.stringify(this.#sets[wanted]);
    return new RooflutError("refused", `expected the rows of ${name}, found none; await loadTables(${name}) before`);
  }

  #checked(rest: WebAssembly.Module): WebAssembly.Module {
    if (buildOf(rest, "rooflut.rest.wasm") === this.#build) return rest;
    throw new TypeError("expected rooflut.wasm and rooflut.rest.wasm of one build, found those of two");
  }

  #place(name: string): number {
    const place = this.#sets.indexOf(name);
    if (place < 0)
      throw new RooflutError(
        "refused",
        `expected a table set, one of ${this.#sets.join(", ")}, found ${JSON.stringify(name)}`,
      );
    return place;
  }

  #load(set: number): Promise<void> {
    const known = this.#loading.get(set);
    if (known) return known;
    const name = this.#sets[set] ?? "";
    const load = async () => {
      const fetched = await this.#fetchTables(name);
      this.#instance.keepRows(set, read(new Uint8Array(fetched as ArrayBuffer), this.#build, name));
    };
    const loading = load();
    this.#loading.set(set, loading);
    // A fetch that failed may succeed later.
    loading.catch(() => this.#loading.delete(set));
    return loading;
  }
}

/** Returns the checksum of what a module was built from. */
function buildOf(module: WebAssembly.Module, name: string): number {
  const [section] = WebAssembly.Module.customSections(module, "rooflut.build");
  if (section?.byteLength !== 4) throw new TypeError(`expected the ${name} of this package, found another module`);
  return new DataView(section).getUint32(0, true);
}

/** Compiles WebAssembly; a response is compiled while it arrives. */
export async function compile(wasm: Wasm): Promise<WebAssembly.Module> {
  const given = await wasm;
  if (given instanceof WebAssembly.Module) return given;
  if (typeof Response !== "undefined" && given instanceof Response) {
    if (!given.ok) throw new TypeError(`expected WebAssembly at ${given.url}, found status ${given.status}`);
    const type = given.headers.get("content-type") ?? "";
    // Some servers do not know the type.
    return type.startsWith("application/wasm")
      ? WebAssembly.compileStreaming(given)
      : WebAssembly.compile(await given.arrayBuffer());
  }
  return WebAssembly.compile(given as BufferSource);
}
