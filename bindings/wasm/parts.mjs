// The share of each part of the program in the module that cargo built, which has the names of functions.

import { sections, Reader } from "./module.mjs";

const CODE = 10;
const DATA = 11;
/** Parts by the crates that their functions are of. */
const PARTS = {
  "library and simulator": ["rooflut", "rooflut_roofline", "hashbrown", "hdrhistogram", "rand_xoshiro", "phf", "libm"],
  "scenarios and reports": ["rooflut_scenario", "rooflut_report", "rooflut_error", "rooflut_codegen"],
  "plan and saturate": ["rooflut_plan", "rayon", "rayon_core"],
  traces: ["rooflut_traces", "csv", "csv_core", "jiff", "jiff_core", "flate2", "miniz_oxide", "ruzstd"],
  "config.json": ["rooflut_hf_config", "regex_lite"],
  "TOML and JSON": ["toml", "toml_parser", "toml_datetime", "serde", "serde_core", "serde_json", "winnow"],
  border: ["rooflut_c", "rooflut_wasm"],
  "standard library": ["core", "alloc", "std", "dlmalloc", "compiler_builtins"],
};
const PART_OF = new Map(Object.entries(PARTS).flatMap(([part, crates]) => crates.map((crate) => [crate, part])));
const STANDARD = new Set(PARTS["standard library"]);

/** Returns the part of a mangled name: that of its first crate which is not the standard library. */
function partOf(name) {
  if (name.startsWith("rooflut_")) return "border";
  const words = [...name.matchAll(/(\d+)_?([a-z_]+?)(?=\d|\.\.|$|[^a-z_])/g)].map(([, , word]) => word);
  const more = [...name.matchAll(/[a-z_]+/g)].map(([word]) => word.replace(/^_+/, ""));
  const crates = [...words, ...more].filter((word) => PART_OF.has(word));
  const crate = crates.find((word) => !STANDARD.has(word)) ?? crates[0];
  return PART_OF.get(crate) ?? "other";
}

/** Returns `[part, bytes]` of the code, the largest first, and the bytes of data. */
export function parts(module) {
  const all = sections(module);
  const code = new Reader(all.find(({ id }) => id === CODE).bytes);
  const names = namesOf(all.filter(({ id }) => id === 0).map(({ bytes }) => new Reader(bytes)));
  const sums = new Map();
  const count = code.unsigned();
  for (let index = 0; index < count; index++) {
    const length = code.unsigned();
    code.take(length);
    const part = partOf(names.get(index) ?? "");
    sums.set(part, (sums.get(part) ?? 0) + length);
  }
  return { code: [...sums].toSorted(([, a], [, b]) => b - a), data: all.find(({ id }) => id === DATA).bytes.length };
}

/** Reads the names of functions from custom sections; the module imports none, so the first has the first body. */
function namesOf(custom) {
  const text = (reader) => Buffer.from(reader.take(reader.unsigned())).toString();
  const section = custom.find((reader) => text(reader) === "name");
  const names = new Map();
  while (section && section.at < section.bytes.length) {
    const kind = section.unsigned();
    const contents = new Reader(section.take(section.unsigned()));
    if (kind !== 1) continue;
    for (let count = contents.unsigned(); count > 0; count--) names.set(contents.unsigned(), text(contents));
  }
  return names;
}
