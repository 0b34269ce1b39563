// Cuts the rows of each table set out of the module that cargo built: node build.mjs MODULE
//
// dist/rooflut.wasm is the module without the rows of any set, dist/tables/NAME.bin the rows of one (js/rows.ts
// describes the file). Both are of one build: a checksum in them says so.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

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

/** Returns the bytes of a place. */
function bytesOf([start, end]) {
  const segment = segments.find(({ address, bytes }) => address <= start && end <= address + bytes.length);
  if (!segment) throw new Error(`expected data at ${start}, found none`);
  return segment.bytes.subarray(start - segment.address, end - segment.address);
}

/** Returns a segment without what is cut. */
function uncut({ address, bytes }, cut) {
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

rmSync("dist/tables", { recursive: true, force: true });
mkdirSync("dist/tables", { recursive: true });
const cut = [];
for (const [set, name] of names().entries()) {
  const own = places(set);
  const table = own.flatMap(([start, end]) => [start, end - start]);
  writeFileSync(
    `dist/tables/${name}.bin`,
    Buffer.concat([numbers(MAGIC, build, own.length, ...table), ...own.map(bytesOf)]),
  );
  cut.push(...own);
}
const remaining = segments.flatMap((segment) => uncut(segment, joined(cut)));
writeFileSync("dist/rooflut.wasm", rebuilt(whole, remaining, ["rooflut.build", numbers(build)]));
for (const license of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(`../../${license}`, license);
