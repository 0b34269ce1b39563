// Writes the template of the report: one HTML file with everything inside, whose scripts and styles are allowed by hash.
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const MAX_BYTES = 250_000;

/** Bundles an entry point into text. */
export async function bundle(entry, options = {}) {
  const result = await build({
    absWorkingDir: here('.'),
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: entry.endsWith('.css') ? undefined : 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    ...options,
  });
  return result.outputFiles[0].text.trim();
}

/** Returns the names, versions and licences of the packages that a bundle contains. */
export async function notices(entry) {
  const { metafile } = await build({ absWorkingDir: here('.'), entryPoints: [entry], bundle: true, write: false, metafile: true, logLevel: 'silent' });
  const packages = new Set(Object.keys(metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]));
  packages.delete(undefined);
  const texts = [...packages].sort().map(async (name) => {
    const folder = here(`node_modules/${name}/`);
    const { version } = JSON.parse(await readFile(`${folder}package.json`, 'utf8'));
    const licence = (await readdir(folder)).find((file) => /^licen[cs]e/i.test(file));
    return `${name} ${version}\n\n${(await readFile(folder + licence, 'utf8')).trim()}`;
  });
  return (await Promise.all(texts)).join('\n\n');
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Returns an HTML document with a bundle of `entry`, with `body` before it. */
export async function page(entry, css, body) {
  // Inside of an element, its end tag would end it.
  const script = (await bundle(entry)).replaceAll('</script', '<\\/script');
  const style = (await bundle(css)).replaceAll('</style', '<\\/style');
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>@TITLE@</title>
<!--
Contains:

${(await notices(entry)).replaceAll('--', '- -')}
-->
<style>${style}</style>
</head>
<body>
${body}<script>${script}</script>
</body>
</html>
`;
}

const INPUTS = `<noscript>@STATIC@</noscript>
<script type="application/json" id="inputs">@INPUTS@</script>
`;

/** Writes the template to `path`. */
export async function template(path) {
  // The command replaces files with this first line.
  const text = (await page('src/report/main.ts', 'src/report/report.css', INPUTS)).replace('<!doctype html>', '<!doctype html><!-- rooflut report -->');
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_BYTES) throw new Error(`the template has ${bytes} bytes, expected at most ${MAX_BYTES}`);
  await mkdir(new URL('.', `file://${path}`), { recursive: true });
  await writeFile(path, text);
  return bytes;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = process.argv[2] ?? here('../crates/html/template.html');
  console.log(`${await template(path)} bytes of template`);
}
