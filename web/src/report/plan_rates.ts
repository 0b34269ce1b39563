/** The section of plans at several rates, or at several speeds of a trace. */
import { chart, type Point } from '../chart/index.js';
import { get, list, num, text, texts, type Json } from '../data/json.js';
import { fixed, plural, threeDigits } from '../data/number.js';
import { candidateName } from './candidate.js';
import { absent, answer, facts, grid, group, notes, type Child } from './dom.js';
import { DEPLOYMENT_COLUMNS, deploymentCells, limitsOf, runs } from './plan.js';

export function planRatesSection(json: Json): Child[] {
  const plans = list(json, 'plans');
  const first = plans[0];
  if (first === undefined)
    return [absent('The report has no plans.', 'Make it with ', 'rooflut plan --rate 10,20 --json')];
  const varied = num(first, 'rate') === undefined ? 'trace_speed' : 'rate';
  const simulations = plans.reduce((sum: number, plan) => sum + (num(plan, 'simulations') ?? 0), 0);
  return [
    answer(sentence(plans, varied)),
    notes([...new Set(plans.flatMap((plan) => texts(plan, 'notes')))].sort()),
    facts('The question', [
      ['Model', text(first, 'model')],
      ['Limits', limitsOf(first)],
      ['Runs', runs(first)],
      ['Search', plural(simulations, 'simulation')],
    ]),
    group(
      'Deployments',
      needed(plans, varied, 'gpus', 'GPUs that meet the limits'),
      needed(plans, varied, 'hourly_cost.usd', 'Cost of the best deployment (USD per hour)'),
      table(plans, varied),
    ),
  ];
}

const nameOf = (varied: string): string => varied === 'rate' ? 'rate' : 'speed';

function sentence(plans: Json[], varied: string): string {
  const met = plans.filter((plan) => list(plan, 'deployments').length > 0);
  const said = [met[0], met.at(-1)]
    .filter((plan, at, ends) => plan !== undefined && ends.indexOf(plan) === at)
    .map((plan) => {
      const best = list(plan, 'deployments')[0];
      const at = `${nameOf(varied)} of ${threeDigits(num(plan, varied) ?? NaN)}`;
      return `${plural(num(best, 'gpus') ?? 0, 'GPU')} (${candidateName(best)}) at a ${at}`;
    });
  const missed = plans.length - met.length;
  const model = text(plans[0], 'model') ?? 'The model';
  const without = missed === 0 ? '' : `; no deployment meets the limits at ${plural(missed, nameOf(varied))}`;
  return said.length === 0
    ? `${model}: no deployment meets the limits.`
    : `${model} needs ${said.join(', and ')}${without}.`;
}

function needed(plans: Json[], varied: string, path: string, title: string): HTMLElement | undefined {
  const points = plans.flatMap((plan): Point[] => {
    const best = list(plan, 'deployments')[0];
    const [x, y] = [num(plan, varied), num(best, path)];
    return x === undefined || y === undefined ? [] : [{ x, y, label: candidateName(best) }];
  }).sort((a, b) => a.x - b.x);
  if (points.length < 2) return undefined;
  return chart({
    title,
    x: { label: varied === 'rate' ? 'Rate (per second)' : 'Speed of the trace', scale: 'linear' },
    y: {
      label: path === 'gpus' ? 'GPUs' : 'USD per hour',
      scale: 'linear',
      domain: [0, Math.max(...points.map(({ y }) => y))],
      digits: 4,
    },
    series: [{ name: path === 'gpus' ? 'GPUs' : 'USD per hour', mark: 'line', points }],
    height: 240,
  });
}

function table(plans: Json[], varied: string): HTMLElement {
  const rows = plans.map((plan) => {
    const best = list(plan, 'deployments')[0] ?? get(plan, 'nearest');
    const usd = num(best, 'hourly_cost.usd');
    const cells = best === undefined || best === null ? DEPLOYMENT_COLUMNS.map(() => '-') : deploymentCells(best);
    return [threeDigits(num(plan, varied) ?? NaN), ...cells, usd === undefined ? '-' : fixed(usd, 2)];
  });
  const isMet = plans.every((plan) => list(plan, 'deployments').length > 0);
  const missed = isMet ? '' : ', where none meets the limits the closest';
  return grid(
    `The best deployment at each ${nameOf(varied)}${missed}; figures in ms`,
    [varied === 'rate' ? 'Rate' : 'Speed', ...DEPLOYMENT_COLUMNS, 'USD per hour'],
    rows,
  );
}
