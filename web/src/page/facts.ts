/** The figures of an answer as a table for readers without scripts, as `rooflut report` writes it. */
import { escaped } from './html.js';

/** Maximum number of lines of the table. */
const MAX_FACTS = 200;
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

/** Returns a table of the figures and texts at the first two levels of an object, each as it is written. */
export function factTable(name: string, json: string): string {
  const rows = facts(json)
    .slice(0, MAX_FACTS)
    .map(([key, value]) => `<tr><th scope="row">${escaped(key)}</th><td>${escaped(value)}</td></tr>\n`);
  return `<table>\n<caption>${escaped(name)}</caption>\n${rows.join('')}</table>\n`;
}

/** Reads tokens rather than values: a parsed number may be written in other digits, `1.0` as `1`. */
function facts(json: string): [key: string, value: string][] {
  const found: [string, string][] = [];
  /** The open objects and lists, each with its key. */
  const open: { isList: boolean; key: string }[] = [];
  let [key, isValue] = ['', false];
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      open.push({ isList: token === '[', key });
      isValue = false;
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':') isValue = true;
    else if (token === ',') isValue = false;
    else if (!isValue) key = token.startsWith('"') ? (JSON.parse(token) as string) : '';
    else if (open.length <= 2 && !open.some(({ isList }) => isList) && token !== 'null') {
      const outer = open.length === 2 ? `${open[1]?.key} ` : '';
      found.push([outer + key, token.startsWith('"') ? (JSON.parse(token) as string) : token]);
    }
  }
  return found;
}
