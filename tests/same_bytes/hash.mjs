// Prints the hashes of a WebAssembly module: node hash.mjs MODULE
import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]));
for (const gpu of [0, 1]) {
  console.log(BigInt.asUintN(64, instance.exports.hash(gpu)).toString(16).padStart(16, "0"));
}
