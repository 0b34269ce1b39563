// Prints the parts of the first load of the page: node sizes.mjs
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('dist/page/', import.meta.url));
const MOST = 700_000;

/** Files that the first answers need, and what they are. */
const FIRST = [
  ['index.html', 'document'],
  ['style.css', 'styles'],
  ['app.js', 'page and charts'],
  ['worker.js', 'worker and package'],
  ['rooflut.wasm', 'simulator'],
  ['tables/h100.bin', 'tables of one GPU'],
];

/** Files that come after the first answer. */
const LATER = [['rooflut.rest.wasm', 'rest of the simulator']];

const size = async (path) => (await readFile(folder + path)).length;
const sized = (files) =>
  Promise.all(
    files.map(async ([path, what]) => ({
      path,
      what,
      raw: await size(path),
      gzip: await size(`${path}.gz`),
      brotli: await size(`${path}.br`),
    })),
  );
const rows = await sized(FIRST);
const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
const total = { path: 'first load', what: '', raw: sum('raw'), gzip: sum('gzip'), brotli: sum('brotli') };
const grouped = (bytes) => String(bytes).replace(/\B(?=(\d{3})+$)/g, bytes > 9999 ? '_' : '');
const later = await sized(LATER);
for (const row of [{ path: 'file', what: '', raw: 'raw', gzip: 'gzip', brotli: 'brotli' }, ...rows, total, ...later]) {
  const { path, what, raw, gzip, brotli } = row;
  const part = `${((100 * brotli) / total.brotli).toFixed(1)} %`;
  const share = typeof brotli === 'string' ? 'share' : later.includes(row) ? '' : part;
  const numbers = [raw, gzip, brotli].map((bytes) => (typeof bytes === 'number' ? grouped(bytes) : bytes).padStart(10));
  console.log(`${path.padEnd(18)} ${what.padEnd(26)}${numbers.join('')}${share.padStart(9)}`);
}
console.log(`the first load has at most ${grouped(MOST)} bytes of brotli`);
process.exitCode = total.brotli > MOST ? 1 : 0;
