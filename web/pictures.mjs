// Draws the pictures of the documentation with the code of the report: node pictures.mjs FOLDER
//
// Its rows: rooflut sweep --model llama-3.3-70b --gpu h100,h200,b200 --tp 2,4,8 --dtype fp8 \
//   --users 1,2,4,8,16,32,64,128,256 --prompt 1000 --output 300 --requests 600 --out pictures/pareto.csv
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundle } from './build.mjs';
import { unbeaten } from './tests/fill.mjs';

const WIDTH = 760;

/** Returns the pictures by the names of their files. */
export async function pictures() {
  const script = await bundle('src/pictures.ts', { format: 'esm' });
  const { pareto } = await import(`data:text/javascript;base64,${Buffer.from(script).toString('base64')}`);
  const rows = await readFile(new URL('pictures/pareto.csv', import.meta.url));
  return { 'pareto.svg': pareto(rows, unbeaten(rows.toString()), WIDTH) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? fileURLToPath(new URL('../docs', import.meta.url));
  for (const [name, svg] of Object.entries(await pictures())) await writeFile(`${folder}/${name}`, svg);
}
