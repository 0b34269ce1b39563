// Prints the parts of the first load of the page: node sizes.mjs
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('dist/page/', import.meta.url));
const AIM = 700_000;

/** Files that the first visit fetches, and what they are. */
const FIRST = [
  ['index.html', 'document'],
  ['style.css', 'styles'],
  ['app.js', 'page and charts'],
  ['worker.js', 'worker and package'],
  ['rooflut.wasm', 'simulator without tables'],
  ['tables/h100.bin', 'tables of one GPU'],
];

const size = async (path) => (await readFile(folder + path)).length;
const rows = await Promise.all(
  FIRST.map(async ([path, what]) => ({
    path,
    what,
    raw: await size(path),
    gzip: await size(`${path}.gz`),
    brotli: await size(`${path}.br`),
  })),
);
const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
const total = { path: 'first load', what: '', raw: sum('raw'), gzip: sum('gzip'), brotli: sum('brotli') };
const grouped = (bytes) => String(bytes).replace(/\B(?=(\d{3})+$)/g, bytes > 9999 ? '_' : '');
for (const { path, what, raw, gzip, brotli } of [
  { path: 'file', what: '', raw: 'raw', gzip: 'gzip', brotli: 'brotli' },
  ...rows,
  total,
]) {
  const share = typeof brotli === 'number' ? `${((100 * brotli) / total.brotli).toFixed(1)} %` : 'share';
  const numbers = [raw, gzip, brotli].map((bytes) => (typeof bytes === 'number' ? grouped(bytes) : bytes).padStart(10));
  console.log(`${path.padEnd(16)} ${what.padEnd(26)}${numbers.join('')}${share.padStart(9)}`);
}
console.log(`the aim is ${grouped(AIM)} bytes of brotli`);
