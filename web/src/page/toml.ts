/** Scenario files as the page reads and writes them: tables of keys with values as they are written. */

/** Keys with their values in TOML, by table; the empty name is for the keys above the first table. */
export type Tables = Map<string, Map<string, string>>;

export interface Scenario {
  tables: Tables;
  /** Other tables, such as `[[fleet]]`, as they are. */
  blocks: string[];
}

const KNOWN = ['', 'workload', 'server', 'output'];

/** Splits a scenario into its keys. What is no line of the form `key = value` is refused with its number. */
export function splitScenario(text: string): Scenario {
  const scenario: Scenario = { tables: new Map(), blocks: [] };
  let table: string | undefined = '';
  const lines = text.split(/\r?\n/);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const header = /^\s*\[(\[?)\s*([^\]]*?)\s*\]\]?\s*(#.*)?$/.exec(line);
    if (header) {
      table = header[1] === '' && KNOWN.includes(header[2] ?? '') ? (header[2] ?? '') : undefined;
      if (table === undefined) scenario.blocks.push(line.trim());
    } else if (table === undefined) {
      scenario.blocks[scenario.blocks.length - 1] += `\n${line}`;
    } else if (/\S/.test(line) && !/^\s*#/.test(line)) {
      const pair = /^\s*"?([\w-]+)"?\s*=\s*(.*)$/.exec(line);
      if (!pair) throw new Error(`line ${at + 1}: expected key = value, found ${JSON.stringify(line.trim())}`);
      let value = uncommented(pair[2] ?? '');
      while (open(value) && at + 1 < lines.length) value += ` ${uncommented(lines[++at] ?? '')}`;
      put(scenario.tables, table, (pair[1] ?? '').replaceAll('-', '_'), value);
    }
  }
  return scenario;
}

export function put(tables: Tables, table: string, key: string, value: string): void {
  const keys = tables.get(table) ?? new Map<string, string>();
  tables.set(table, keys.set(key, value));
}

export function copy({ tables, blocks }: Scenario): Scenario {
  return { tables: new Map([...tables].map(([table, keys]) => [table, new Map(keys)])), blocks: [...blocks] };
}

/** Returns the text of a scenario. */
export function joinScenario({ tables, blocks }: Scenario): string {
  const written = KNOWN.flatMap((table) => {
    const keys = [...(tables.get(table) ?? [])].map(([key, value]) => `${key} = ${value}`);
    return keys.length === 0 ? [] : [(table === '' ? keys : [`[${table}]`, ...keys]).join('\n')];
  });
  return `${[...written, ...blocks.map((block) => block.trim())].join('\n\n')}\n`;
}

/** Returns a value as TOML writes it. */
export function literal(value: string | number | boolean | string[]): string {
  return Array.isArray(value)
    ? `[${value.map((item) => JSON.stringify(item)).join(', ')}]`
    : typeof value === 'string'
      ? JSON.stringify(value)
      : String(value);
}

/** Returns a value of one line; `undefined` for what is neither a text, a number, true, false nor a list of texts. */
export function readLiteral(toml: string): string | number | boolean | string[] | undefined {
  if (/^'[^']*'$/.test(toml)) return toml.slice(1, -1);
  if (/^[+-]?[\d_.]+(e[+-]?\d+)?$/i.test(toml)) return Number(toml.replaceAll('_', ''));
  try {
    const value: unknown = JSON.parse(toml.replace(/,\s*\]$/, ']'));
    const plain = typeof value === 'string' || typeof value === 'boolean';
    const texts = Array.isArray(value) && value.every((item) => typeof item === 'string');
    return plain || texts ? (value as string) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a line without the comment at its end. */
function uncommented(line: string): string {
  const [value = ''] = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^#"'])*/.exec(line) ?? [];
  return value.trim();
}

/** Whether a list or an inline table goes on in the next line. */
function open(value: string): boolean {
  const bare = value.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '');
  return (bare.match(/[[{]/g)?.length ?? 0) > (bare.match(/[\]}]/g)?.length ?? 0);
}
