// Divides the module that cargo built: node build.mjs MODULE
//
// dist/tables/NAME.bin has the rows of a table set (js/rows.ts describes the file), dist/rooflut.wasm the functions that
// the calls of first.mjs run, and dist/rooflut.rest.wasm the others. All are of one build: a checksum in them says so.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Rooflut } from "./dist/rooflut.js";
import { first } from "./first.mjs";
import { data, rebuilt } from "./module.mjs";

/** Shorter arrays stay: other constants of the program may be equal, and in the same place. */
const SHORTEST = 256;
const MAGIC = 0x3152_4c52;

const [path] = process.argv.slice(2);
const whole = readFileSync(path);
const { exports } = await WebAssembly.instantiate(whole).then(({ instance }) => instance);
const build = createHash("sha256").update(whole).digest().readUint32LE();

/** Returns the names of the sets, in the order of their places. */
function names() {
  const [handle, length] = [exports.rooflut_wasm_allocate(8), exports.rooflut_wasm_allocate(4)];
  const view = () => new DataView(exports.memory.buffer);
  exports.rooflut_tables_names(handle, 0);
  const text = view().getBigUint64(handle, true);
  exports.rooflut_text_read(text, 0, 0, length, 0);
  const bytes = view().getUint32(length, true);
  const buffer = exports.rooflut_wasm_allocate(bytes);
  exports.rooflut_text_read(text, buffer, bytes, length, 0);
  return JSON.parse(Buffer.from(exports.memory.buffer, buffer, bytes).toString());
}

/** Returns the places `[start, end]` of a set's arrays, in ascending order, those that touch as one. */
function places(set) {
  const out = exports.rooflut_wasm_allocate(8);
  const found = [];
  for (let array = 0; exports.rooflut_wasm_set_array(set, array, out); array++) {
    const view = new DataView(exports.memory.buffer, out);
    const [start, length] = [view.getUint32(0, true), view.getUint32(4, true)];
    if (length >= SHORTEST) found.push([start, start + length]);
  }
  return joined(found);
}

function joined(ranges) {
  const all = [];
  for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = all.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else all.push([start, end]);
  }
  return all;
}

const segments = data(whole);
const sets = names().map((name, set) => ({ name, own: places(set) }));
const cut = joined(sets.flatMap(({ own }) => own));

/** Returns the bytes of a place. */
function bytesOf([start, end]) {
  const segment = segments.find(({ address, bytes }) => address <= start && end <= address + bytes.length);
  if (!segment) throw new Error(`expected data at ${start}, found none`);
  return segment.bytes.subarray(start - segment.address, end - segment.address);
}

/** Returns a segment without the rows. */
function uncut({ address, bytes }) {
  const end = address + bytes.length;
  const inside = cut.filter(([first, last]) => first < end && last > address);
  const starts = [address, ...inside.map(([, last]) => last)];
  const ends = [...inside.map(([first]) => first), end];
  const kept = starts.map((start, index) => [start, ends[index]]).filter(([start, last]) => start < last);
  return kept.map((place) => ({ address: place[0], bytes: bytesOf(place) }));
}

function numbers(...values) {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeUint32LE(value, 4 * index));
  return bytes;
}

/** Returns a module without rows, with the checksum. */
const marked = (module) => rebuilt(module, segments.flatMap(uncut), ["rooflut.build", numbers(build)]);

/** Returns the file of a set. */
function rows({ own }) {
  const table = own.flatMap(([start, end]) => [start, end - start]);
  return Buffer.concat([numbers(MAGIC, build, own.length, ...table), ...own.map(bytesOf)]);
}

/** Returns which functions the first calls run, by an instrumented module. */
async function profile(instrumented) {
  const { Instance } = WebAssembly;
  const instances = [];
  // The package keeps its instance for itself.
  WebAssembly.Instance = function (...given) {
    instances.push(new Instance(...given));
    return instances.at(-1);
  };
  const fetchTables = async (wanted) => rows(sets.find(({ name }) => name === wanted));
  await first(new Rooflut(new WebAssembly.Module(marked(instrumented)), fetchTables));
  WebAssembly.Instance = Instance;
  if (instances.length !== 1) throw new Error("expected that no call panics, found one that did");
  const [{ exports }] = instances;
  // After a panic, the rest may be out of reach.
  exports.rooflut_wasm_panic_message();
  exports.rooflut_wasm_panic_length();
  const length = exports.__write_profile(0, 0);
  const buffer = exports.rooflut_wasm_allocate(length);
  exports.__write_profile(buffer, length);
  return Buffer.from(exports.memory.buffer, buffer, length);
}

/** Returns the module of the functions that the first calls run, and that of the others. */
async function divided() {
  const folder = mkdtempSync(join(tmpdir(), "rooflut-"));
  const [instrumented, profiled, one, other] = ["i", "p", "1", "2"].map((name) => join(folder, name));
  try {
    execFileSync("wasm-split", ["--instrument", path, "-o", instrumented]);
    writeFileSync(profiled, await profile(readFileSync(instrumented)));
    execFileSync("wasm-split", [path, `--profile=${profiled}`, "-o1", one, "-o2", other]);
    return [one, other].map((module) => readFileSync(module));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const [primary, rest] = await divided();
writeFileSync("dist/rooflut.wasm", marked(primary));
writeFileSync("dist/rooflut.rest.wasm", marked(rest));
rmSync("dist/tables", { recursive: true, force: true });
mkdirSync("dist/tables", { recursive: true });
for (const set of sets) writeFileSync(`dist/tables/${set.name}.bin`, rows(set));
for (const license of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(`../../${license}`, license);
