import { readFile } from "node:fs/promises";

import type { LoadOptions } from "./index.js";
import { Rooflut, compile } from "./rooflut.js";

export * from "./index.js";

/** Loads the library in Node, from the files of the package. */
export async function load(options: LoadOptions = {}): Promise<Rooflut> {
  const file = (name: string) => readFile(new URL(name, import.meta.url));
  const [wasm, rest] = await Promise.all([
    compile(options.wasm ?? file("./rooflut.wasm")),
    compile(options.rest ?? file("./rooflut.rest.wasm")),
  ]);
  return new Rooflut(wasm, options.tables ?? ((name) => file(`./tables/${name}.bin`)), () => rest);
}
