// Fills the template of a report, as `rooflut report` does, for tests.
import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';

const TEMPLATE = new URL('../../crates/html/template.html', import.meta.url);

/** Returns an input of the JSON answer of a command. */
export function jsonInput(kind, name, text) {
  return { name, kind, json: JSON.parse(text) };
}

/** Returns an input of a CSV. */
export function csvInput(kind, name, text) {
  const rows = text.trimEnd().split('\n').length - 1;
  return {
    name, kind, rows, deflate: deflateRawSync(text, { level: 6 }).toString('base64'),
    ...(kind === 'sweep' ? { pareto: unbeaten(text) } : {}),
  };
}

/** Returns the indices of the rows of a sweep that no other row beats in tokens/s a user and a GPU. Cells must have no quotes. */
export function unbeaten(text) {
  const [header, ...rows] = text.trimEnd().split('\n').map((line) => line.split(','));
  const [user, gpu, overloaded] = ['tokens_per_s_per_user', 'output_tokens_per_s_per_gpu', 'overloaded'].map((name) => header.indexOf(name));
  const known = rows.map((row) => ({ index: Number(row[0]), user: Number(row[user] || NaN), gpu: Number(row[gpu] || NaN), up: row[overloaded] === 'false' }));
  const sorted = known.filter((row) => row.up && Number.isFinite(row.user + row.gpu)).sort((a, b) => b.user - a.user || b.gpu - a.gpu);
  let most = -Infinity;
  const front = sorted.filter((row) => row.gpu > most && ((most = row.gpu), true));
  return front.map((row) => row.index).reverse();
}

/** Returns the document of a report. */
export async function fill(report) {
  const template = await readFile(TEMPLATE, 'utf8');
  const escaped = report.title.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const inputs = JSON.stringify({ format: 1, command: null, ...report }).replaceAll('<', '\\u003c');
  return template
    .replace('@TITLE@', () => escaped)
    .replace('@STATIC@', () => escaped)
    .replace('@INPUTS@', () => report.block ?? inputs);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // node fill.mjs OUT.html TITLE KIND=PATH...
  const [out, title, ...paths] = process.argv.slice(2);
  const inputs = await Promise.all(paths.map(async (given) => {
    const [kind, path] = given.split('=');
    const text = await readFile(path, 'utf8');
    return path.endsWith('.csv') ? csvInput(kind, basename(path), text) : jsonInput(kind, basename(path), text);
  }));
  await writeFile(out, await fill({ title, inputs }));
}
