// Opens pages in Chromium and fails on any error or request of theirs.
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { bundle, page as document } from '../build.mjs';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

function executable() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of NAMES) {
    try {
      return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    } catch {
      // Try the next one.
    }
  }
  throw new Error(`no browser found: install one of ${NAMES.join(', ')}, or name one in CHROMIUM`);
}

/** Starts the browser. */
export function browser() {
  return chromium.launch({ executablePath: executable(), args: ['--no-sandbox'] });
}

const dist = fileURLToPath(new URL('../dist/', import.meta.url));

/** Writes a file for a test and returns its URL. */
export async function written(name, text) {
  await mkdir(dist, { recursive: true });
  await writeFile(dist + name, text);
  return pathToFileURL(dist + name).href;
}

/** Builds the gallery of all charts, with the content security policy of the report. */
export async function gallery() {
  return written('gallery.html', (await document('tests/gallery.ts', 'src/theme.css', '')).replace('@TITLE@', 'Gallery'));
}

/** Imports a module of the front end into node. */
export async function imported(entry) {
  const text = await bundle(entry, { format: 'esm', platform: 'node' });
  return import(await written(`${entry.replaceAll(/[^a-z]/g, '-')}.mjs`, text));
}

/** Opens `url`, calls `use` with the page, and fails if the page wrote an error or asked for anything but itself. */
export async function visit(browser, url, options, use) {
  const context = await browser.newContext({ acceptDownloads: true, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const target = request.url();
    if (target !== url && !target.startsWith('data:') && !target.startsWith('blob:')) faults.push(`request of ${target}`);
  });
  try {
    await page.goto(url);
    const result = await use(page);
    assert.deepEqual(faults, []);
    return result;
  } finally {
    await context.close();
  }
}

export const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Returns the violations of WCAG 2.2 AA that axe finds, as text. */
export async function violations(page) {
  // The policy of the page forbids a script element.
  const { readFile } = await import('node:fs/promises');
  await page.evaluate(await readFile(axePath, 'utf8'));
  const found = await page.evaluate(async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    return (await globalThis.axe.run(document, { runOnly: tags })).violations;
  });
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`).join('; ')}`);
}
