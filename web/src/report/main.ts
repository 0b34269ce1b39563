import { element } from '../data/element.js';

/** Names of the inputs of the report. */
function names(): string[] {
  const text = document.getElementById('inputs')?.textContent ?? '';
  try {
    const { inputs } = JSON.parse(text) as { inputs?: { name?: unknown }[] };
    return Array.isArray(inputs) ? inputs.map((input) => String(input.name)) : [];
  } catch {
    return [];
  }
}

document.body.append(element('h1', '', document.title), ...names().map((name) => element('p', '', name)));
