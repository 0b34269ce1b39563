/** Deployments that the front leaves out, counted, with the reasons. */
import { plural } from '../data/number.js';
import { folded, grid, paragraph, type Child } from '../report/dom.js';

export interface LeftOut {
  deployment: string;
  reason: string;
}

export function leftOut(all: LeftOut[]): Child[] {
  if (all.length === 0) return [];
  const unfit = all.filter(({ reason }) => reason.includes(' does not fit ')).length;
  const refused = all.length - unfit;
  const said = [
    unfit > 0 && `${plural(unfit, 'deployment')} ${unfit === 1 ? 'does' : 'do'} not fit in the memory of the GPUs`,
    refused > 0 && `${plural(refused, 'split')} of the GPUs ${refused === 1 ? 'is' : 'are'} not possible for the model`,
  ];
  const rows = all.map(({ deployment, reason }) => [deployment, reason.replace(/^scenario: /, '')]);
  return [
    paragraph(`${said.filter(Boolean).join(', and ')}: left out.`),
    folded(`What is left out, and why`, () => grid('Deployments that are left out', ['Deployment', 'Reason'], rows)),
  ];
}
