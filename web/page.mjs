// Writes the page: a folder for any web server.
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { bundle, notices, template } from './build.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The package with the library: `rooflut.wasm`, the rest of it, and a file of tables for each GPU. */
const PACKAGE = here('../bindings/wasm/dist/');

/** Writes the page to the folder `out`, with the library of the folder `library`. */
export async function writePage(out, library = PACKAGE) {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const app = await bundle('src/page/main.ts');
  await writeFile(
    `${out}app.js`,
    `/*\nContains:\n\n${(await notices('src/page/main.ts')).replaceAll('*/', '* /')}\n*/\n${app}\n`,
  );
  await writeFile(`${out}worker.js`, await bundle('src/page/worker.ts'));
  await writeFile(`${out}style.css`, await bundle('src/page/page.css'));
  await cp(here('src/page/index.html'), `${out}index.html`);
  await template(`${out}report.html`);
  for (const module of ['rooflut.wasm', 'rooflut.rest.wasm']) await cp(library + module, out + module);
  await cp(`${library}tables`, `${out}tables`, { recursive: true });
  await cp(`${library}../THIRD-PARTY.txt`, `${out}THIRD-PARTY.txt`);
  for (const licence of ['LICENSE-APACHE', 'LICENSE-MIT']) await cp(here(`../${licence}`), `${out}${licence}`);
  await writeFile(`${out}sw.js`, await serviceWorker(out));
}

/** Files that the first visit keeps. */
const KEPT = [
  ...['./', 'index.html', 'app.js', 'worker.js', 'style.css', 'report.html'],
  ...['rooflut.wasm', 'rooflut.rest.wasm', 'tables/h100.bin'],
];

async function serviceWorker(out) {
  const hash = createHash('sha256');
  for (const file of KEPT) hash.update(await readFile(out + (file === './' ? 'index.html' : file)));
  const define = { VERSION: JSON.stringify(hash.digest('hex').slice(0, 16)), FILES: JSON.stringify(KEPT) };
  return bundle('src/page/sw.ts', { define });
}

/** Writes each file as gzip and brotli beside it, for servers that send these. */
export async function compress(out) {
  for (const name of await readdir(out, { recursive: true, withFileTypes: true })) {
    if (!name.isFile()) continue;
    const path = `${name.parentPath}/${name.name}`;
    const bytes = await readFile(path);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    await writeFile(`${path}.br`, brotliCompressSync(bytes, { params }));
    await writeFile(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writePage(here('dist/page/'), process.argv[2]);
  await compress(here('dist/page/'));
}
