/** The arrays of a table set, each with its place in memory. */
export interface Rows {
  /** Address and bytes of each array. */
  readonly arrays: readonly (readonly [number, Uint8Array])[];
}

/** The first bytes of a file of rows. */
const MAGIC = 0x3152_4c52; // "RLR1"

/**
 * Reads a file that the build cut out of the module: little-endian 32-bit numbers, the mark, a checksum of the module
 * that the rows belong to, the number of arrays, then address and length of each; then their bytes.
 */
export function read(bytes: Uint8Array, module: number, name: string): Rows {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const refuse = (found: string) =>
    new RangeError(
      `tables of ${name}: expected those that come with this rooflut.wasm, found ${found}; take both of one build`,
    );
  if (bytes.byteLength < 12 || view.getUint32(0, true) !== MAGIC) throw refuse("another file");
  if (view.getUint32(4, true) !== module) throw refuse("one of another build");
  const count = view.getUint32(8, true);
  let at = 12 + 8 * count;
  const arrays = Array.from({ length: count }, (_, index) => {
    const place = 12 + 8 * index;
    const length = view.getUint32(place + 4, true);
    at += length;
    return [view.getUint32(place, true), bytes.subarray(at - length, at)] as const;
  });
  if (at !== bytes.byteLength) throw refuse(`${bytes.byteLength} bytes in place of ${at}`);
  return { arrays };
}

export function write(rows: Rows, memory: WebAssembly.Memory): void {
  const bytes = new Uint8Array(memory.buffer);
  for (const [address, array] of rows.arrays) bytes.set(array, address);
}
