// Measures the package: node measure.mjs

import { readFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import { load } from "./dist/node.js";

const LOAD = 'model = "llama-3.1-8b"\n[workload]\nrequests = 1000\nrate = 20\n';
const PLAN = 'model = "llama-3.1-8b"\n[workload]\nrate = 30\n';
const LIMITS = { goodput: ["ttft:500", "tpot:20"], gpu: ["h100"], max_gpus: 8 };

async function timed(what, work, times = 1) {
  const all = [];
  for (let time = 0; time < times; time++) {
    const start = performance.now();
    await work();
    all.push(performance.now() - start);
  }
  const shown = all.map((ms) => ms.toFixed(1)).join(", ");
  console.log(`${what}: ${shown} ms`);
}

const brotli = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length;
for (const file of process.argv[2] === "--no-sizes" ? [] : ["rooflut.wasm", "tables/h100.bin"]) {
  const bytes = readFileSync(new URL(`./dist/${file}`, import.meta.url));
  console.log(`${file}: ${bytes.length} bytes, gzip ${gzipSync(bytes, { level: 9 }).length}, brotli ${brotli(bytes)}`);
}
let rooflut;
await timed("load", async () => (rooflut = await load()));
await timed("tables of h100", () => rooflut.loadTables("h100"));
await timed("a run of 1_000 requests", () => rooflut.run(LOAD), 6);
await timed("a plan of up to 8 H100", () => rooflut.plan(PLAN, LIMITS), 3);
await timed("what fits", () => rooflut.fits('model = "llama-3.1-70b"'), 2);
