// Reads and writes modules of WebAssembly, as far as the build changes them.

/** Sections by https://webassembly.github.io/spec/core/binary/modules.html#sections */
const CUSTOM = 0;
/** The section of the memory. */
export const MEMORY = 5;
const DATA = 11;
const DATA_COUNT = 12;
/** Bytes before the first section. */
export const HEADER = 8;

/** Reads little-endian numbers of base 128. */
export class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  unsigned() {
    let [value, factor, byte] = [0, 1, 0];
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte & 128);
    return value;
  }

  /** A signed number of 32 bits, as an address. */
  address() {
    const start = this.at;
    const value = this.unsigned();
    const bits = 7 * (this.at - start);
    const isNegative = this.bytes[this.at - 1] & 64;
    return (isNegative ? value - 2 ** bits : value) >>> 0;
  }

  take(length) {
    return this.bytes.subarray(this.at, (this.at += length));
  }
}

export function unsigned(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}

function address(value) {
  const bytes = [];
  for (value |= 0; value < -64 || value > 63; value >>= 7) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value & 127]);
}

/** Returns the parts of a section. */
export const section = (id, bytes) => [Buffer.from([id]), unsigned(bytes.length), bytes];

/** Returns the sections of a module, `[{ id, bytes }]`. */
export function sections(module) {
  const reader = new Reader(module);
  reader.at = HEADER;
  const found = [];
  while (reader.at < module.length) {
    const id = reader.unsigned();
    found.push({ id, bytes: reader.take(reader.unsigned()) });
  }
  return found;
}

/** Returns the data of a module, `[{ address, bytes }]`. */
export function data(module) {
  const { bytes } = sections(module).find(({ id }) => id === DATA);
  const reader = new Reader(bytes);
  return Array.from({ length: reader.unsigned() }, () => {
    const [kind, opcode] = [reader.unsigned(), reader.unsigned()];
    const at = reader.address();
    if (kind !== 0 || opcode !== 0x41 || reader.unsigned() !== 0x0b) {
      throw new Error("expected data at a constant address, found other data");
    }
    return { address: at, bytes: reader.take(reader.unsigned()) };
  });
}

/** Returns a module with other data, if it has any, without names, and with a custom section. */
export function rebuilt(module, segments, [name, contents]) {
  const active = ({ address: at, bytes }) => [
    Buffer.from([0, 0x41]),
    address(at),
    Buffer.from([0x0b]),
    unsigned(bytes.length),
    bytes,
  ];
  const written = Buffer.concat([unsigned(segments.length), ...segments.flatMap(active)]);
  const custom = Buffer.concat([unsigned(name.length), Buffer.from(name), contents]);
  const kept = sections(module).filter(({ id }) => id !== CUSTOM);
  const replaced = ({ id, bytes }) =>
    section(id, id === DATA ? written : id === DATA_COUNT ? unsigned(segments.length) : bytes);
  return Buffer.concat([module.subarray(0, HEADER), ...kept.flatMap(replaced), ...section(CUSTOM, custom)]);
}
