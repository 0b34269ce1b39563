// Measures the package, and fails if its first load is too large: node measure.mjs MODULE, with the module that cargo
// built.

import { readFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import { compile, load } from "./dist/node.js";
import { parts } from "./parts.mjs";

/** Bytes of brotli of the first load: the module and the rows of one GPU. A page has 700_000, with its own 70_000. */
const LIMIT = 630_000;
const LOAD = 'model = "llama-3.1-8b"\n[workload]\nrequests = 1000\nrate = 20\n';
const PLAN = 'model = "llama-3.1-8b"\n[workload]\nrate = 30\n';
const LIMITS = { goodput: ["ttft:500", "tpot:20"], gpu: ["h100"], max_gpus: 8 };

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "_");
const read = (file) => readFileSync(new URL(`./dist/${file}`, import.meta.url));
const brotli = (bytes) =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length;

/** Prints the sizes and returns the bytes of brotli. */
function sizes() {
  const { code, data } = parts(readFileSync(process.argv[2]));
  const sum = code.reduce((sum, [, bytes]) => sum + bytes, 0);
  for (const [part, bytes] of code)
    console.log(`${part}: ${((100 * bytes) / sum).toFixed(0)} % of ${grouped(sum)} bytes of code`);
  console.log(`data, before the rows are cut out: ${grouped(data)} bytes`);
  const size = (file) => {
    const bytes = read(file);
    const compressed = brotli(bytes);
    const gzip = gzipSync(bytes, { level: 9 }).length;
    console.log(`${file}: ${grouped(bytes.length)} bytes, gzip ${grouped(gzip)}, brotli ${grouped(compressed)}`);
    return compressed;
  };
  size("rooflut.rest.wasm");
  return size("rooflut.wasm") + size("tables/h100.bin");
}

/** Prints the times of some calls, and the processor time of the fastest, which depends less on what else runs. */
async function timed(what, work, times) {
  const walls = [];
  const processors = [];
  for (let time = 0; time < times; time++) {
    const [start, before] = [performance.now(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(before);
    walls.push((performance.now() - start).toFixed(1));
    processors.push((user + system) / 1e3);
  }
  console.log(`${what}: ${walls.join(", ")} ms; processor ${Math.min(...processors).toFixed(1)} ms`);
}

let rooflut;
await timed("load", async () => (rooflut = await load()), 1);
const [wasm, rest] = await Promise.all(["rooflut.wasm", "rooflut.rest.wasm"].map((file) => compile(read(file))));
await timed("load of the compiled modules", () => load({ wasm, rest }), 8);
await timed("rows of h100", () => rooflut.loadTables("h100"), 1);
await timed("a run of 1_000 requests", () => rooflut.run(LOAD), 8);
await timed("bounds of a plan of up to 8 H100", () => rooflut.planLeast(PLAN, LIMITS), 4);
await timed("the plan", () => rooflut.plan(PLAN, LIMITS), 4);
if (process.argv[2] !== undefined) {
  const found = sizes();
  console.log(`first load: ${grouped(found)} bytes of brotli of at most ${grouped(LIMIT)}`);
  process.exitCode = found > LIMIT ? 1 : 0;
}
