import { readFile } from "node:fs/promises";

import type { LoadOptions } from "./index.js";
import { Rooflut, compile } from "./rooflut.js";

export * from "./index.js";

/** Loads the library in Node, from the files of the package. */
export async function load(options: LoadOptions = {}): Promise<Rooflut> {
  const wasm = options.wasm ?? readFile(new URL("./rooflut.wasm", import.meta.url));
  const tables = (name: string) => readFile(new URL(`./tables/${name}.bin`, import.meta.url));
  return new Rooflut(await compile(wasm), options.tables ?? tables);
}
