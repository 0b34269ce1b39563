/** The report: reads the inputs of the document and shows a section for each. */
import { readInputs, type Inputs } from '../data/inputs.js';
import { absent, command, h, type Child } from './dom.js';
import { contents, sections, type Section } from './sections.js';
import { terms } from './terms.js';

/** Titles of the kinds of inputs. */
const KINDS: Record<string, string> = {
  run: 'Run',
  step: 'Step',
  sweep: 'Sweep',
  plan: 'Plan',
  'plan-rates': 'Plans',
  saturate: 'Saturation',
  'saturate-users': 'Users',
  compare: 'Comparison',
  validate: 'Validation',
  requests: 'Requests',
  steps: 'Steps',
  windows: 'Windows',
};

async function show(inputs: Inputs, page: HTMLElement): Promise<void> {
  const all = sections(inputs.inputs);
  page.setAttribute('aria-busy', 'true');
  page.append(head(inputs, all));
  for (const [at, section] of all.entries()) {
    const shown = h('section', { id: `input-${at + 1}`, class: 'input', 'aria-labelledby': `title-${at + 1}` });
    // A report of one input has its title above already.
    if (all.length > 1) shown.append(h('h2', { id: `title-${at + 1}` }, titleOf(section)));
    else shown.removeAttribute('aria-labelledby');
    page.append(shown);
    shown.append(
      ...(await safely(section)).filter((child): child is Node | string => child !== undefined && child !== false),
    );
  }
  if (all.length > 0) page.append(terms());
  else page.append(absent('This report has no inputs.', 'Make it again with ', 'rooflut report OUT.html INPUTS'));
  page.removeAttribute('aria-busy');
}

function head(inputs: Inputs, all: Section[]): HTMLElement {
  const links = all.map((section, at) => h('li', {}, h('a', { href: `#input-${at + 1}` }, titleOf(section))));
  return h(
    'header',
    {},
    h('h1', {}, inputs.title),
    links.length > 1 && h('nav', { 'aria-label': 'Sections' }, h('ol', {}, ...links)),
    inputs.command !== undefined && command(inputs.command, 'Command that makes this report'),
  );
}

function titleOf({ input }: Section): string {
  return `${(Object.hasOwn(KINDS, input.kind) && KINDS[input.kind]) || 'Input'}: ${input.name}`;
}

/** An input of a shape that no version wrote must not take the other sections with it. */
async function safely(section: Section): Promise<Child[]> {
  try {
    return await contents(section);
  } catch {
    return [
      absent(`The input ${section.input.name} could not be shown.`, 'Make it again with this version of rooflut.'),
    ];
  }
}

const page = h('main');
document.body.append(page);
void show(readInputs(document.querySelector('#inputs')?.textContent), page);
