/** The settings in the fragment of the address: `#1.` and base64url of their JSON, compressed. */
import { check } from './check.js';
import type { Field, Settings } from './fields.js';

const VERSION = '1';
/** Characters of a fragment. */
const LONGEST = 8192;
/** Characters of the JSON, so that a short fragment cannot fill the memory. */
const LONGEST_JSON = 65_536;

/** Returns the fragment, empty for the initial settings; `undefined` where it would be too long. */
export async function writeAddress(settings: Settings): Promise<string | undefined> {
  if (Object.keys(settings).length === 0) return '';
  const json = new Blob([JSON.stringify(settings)]).stream();
  const bytes = new Uint8Array(
    await new Response(json.pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer(),
  );
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  const fragment = `#${VERSION}.${base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
  return fragment.length <= LONGEST ? fragment : undefined;
}

/** Reads a fragment. Throws a sentence where it is not one of this version, or has settings that no control takes. */
export async function readAddress(fragment: string, fields: Field[]): Promise<Settings> {
  if (fragment === '' || fragment === '#') return {};
  const given = /^#(\w+)\.([\w-]+)$/.exec(fragment);
  if (!given || fragment.length > LONGEST)
    throw new Error('The address ends in something that this page did not write.');
  if (given[1] !== VERSION) {
    throw new Error(`The address was written by another version of this page: expected ${VERSION}, found ${given[1]}.`);
  }
  const json = await inflated(given[2] ?? '');
  return checked(json, fields);
}

async function inflated(base64url: string): Promise<unknown> {
  try {
    const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return JSON.parse(text + decoder.decode());
      text += decoder.decode(value, { stream: true });
      if (text.length > LONGEST_JSON) throw new Error('too long');
    }
  } catch {
    throw new Error('The settings in the address are damaged; copy it again.');
  }
}

function checked(json: unknown, fields: Field[]): Settings {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new Error('The address holds no settings.');
  const settings: Settings = {};
  for (const [key, given] of Object.entries(json)) {
    const field = fields.find((field) => field.key === key);
    if (!field)
      throw new Error(`The address has a setting that this page does not know: ${JSON.stringify(key.slice(0, 40))}.`);
    const result = check(field, given);
    if ('wrong' in result) throw new Error(`The address is refused. ${result.wrong}`);
    if (result.value !== undefined) settings[key] = result.value;
  }
  return settings;
}
