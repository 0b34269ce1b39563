import { type FetchTables, Rooflut, type Wasm, compile } from "./rooflut.js";

export type { Estimate, Lookup } from "./lookup.js";
export type { Model } from "./model.js";
export type { Batch, Chunk, DecodeGroup, PartTime, Scenario, StepTime } from "./scenario.js";
export type { Event, Request, Role, Server, ServerState, ServerTotals } from "./server.js";
export type { Rest } from "./instance.js";
export { type Kind, RooflutError } from "./error.js";
export * from "./rooflut.js";

export interface LoadOptions {
  /** The module; by default `rooflut.wasm` beside this file. */
  wasm?: Wasm;
  /** The module with what few calls need; by default `rooflut.rest.wasm` beside this file. */
  rest?: Wasm;
  /** Fetches rows; by default `tables/NAME.bin` beside this file. */
  tables?: FetchTables;
}

/** Loads the library in a browser or a worker. */
export async function load(options: LoadOptions = {}): Promise<Rooflut> {
  const [wasm, rest] = await Promise.all([
    compile(options.wasm ?? fetch(new URL("./rooflut.wasm", import.meta.url))),
    compile(options.rest ?? fetch(new URL("./rooflut.rest.wasm", import.meta.url))),
  ]);
  return new Rooflut(wasm, options.tables ?? fetched, () => rest);
}

async function fetched(name: string): Promise<ArrayBuffer> {
  const response = await fetch(new URL(`./tables/${name}.bin`, import.meta.url));
  if (!response.ok) throw new TypeError(`expected tables at ${response.url}, found status ${response.status}`);
  return response.arrayBuffer();
}
