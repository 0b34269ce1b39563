/** The report of what is known: the template of `rooflut report`, filled with the same data. */
import { Csv } from '../data/csv.js';
import { text as textOf, type Json } from '../data/json.js';
import { factTable } from './facts.js';
import { front } from './front.js';
import { embedded, escaped } from './html.js';

export interface ReportInput {
  name: string;
  kind: 'run' | 'step' | 'plan' | 'sweep';
  /** What the command prints. */
  text: string;
}

/** Version of the data that the template reads. */
const FORMAT = 1;

/** Returns the report as HTML. Rejects where the template cannot be fetched. */
export async function filled(inputs: ReportInput[]): Promise<string> {
  const response = await fetch('report.html');
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  const template = await response.text();
  const title = titleOf(inputs);
  const objects = await Promise.all(inputs.map(objectOf));
  const tables = inputs.map((input) => factTable(input.name, ofFacts(input)));
  const data = `{"format":${FORMAT},"title":${JSON.stringify(title)},"command":null,"inputs":[${objects.join(',')}]}`;
  return template
    .replace('@TITLE@', () => escaped(title))
    .replace('@STATIC@', () => tables.join(''))
    .replace('@INPUTS@', () => embedded(data));
}

function titleOf(inputs: ReportInput[]): string {
  for (const { kind, text } of inputs) {
    if (kind === 'sweep') continue;
    const json = JSON.parse(text) as Json;
    const [model, gpu] = [textOf(json, 'model'), textOf(json, 'gpu')];
    if (model !== undefined) return gpu === undefined ? model : `${model} on ${gpu}`;
  }
  return 'rooflut report';
}

async function objectOf({ name, kind, text }: ReportInput): Promise<string> {
  const head = `{"name":${JSON.stringify(name)},"kind":"${kind}"`;
  if (kind !== 'sweep') return `${head},"json":${text}}`;
  const csv = new Csv(new TextEncoder().encode(text));
  return `${head},"rows":${csv.rows},"pareto":${JSON.stringify(front(csv))},"deflate":"${await compressed(text)}"}`;
}

/** Returns the JSON whose figures stand in the table; of rows, their number. */
function ofFacts({ kind, text }: ReportInput): string {
  return kind === 'sweep' ? JSON.stringify({ rows: new Csv(new TextEncoder().encode(text)).rows }) : text;
}

async function compressed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}
