/** The section of a plan. */
import { groupBy } from '../data/group.js';
import { get, has, list, num, text, texts, truth, type Json } from '../data/json.js';
import { fixed, latency, percent, plural, threeDigits } from '../data/number.js';
import { candidateName, gpusOf, servers, signedPercent } from './candidate.js';
import { absent, answer, command, facts, folded, grid, group, notes, paragraph, type Child } from './dom.js';
import { limitInWords } from './limits.js';
import { costBars, limitBars } from './plan_charts.js';
import { degrees } from './run/degrees.js';

export function planSection(plan: Json): Child[] {
  const candidates = candidatesOf(plan);
  const best = list(plan, 'deployments')[0];
  const words = text(best, 'command');
  const vllm = text(best, 'vllm_command');
  return [
    answer(planSentence(plan)),
    paragraph(confidence(plan)),
    notes(texts(plan, 'notes')),
    facts('The question', [
      ['Model', text(plan, 'model')],
      ['Limits', limitsOf(plan)],
      ['Runs', runs(plan)],
      ['Search', search(plan)],
      ['Limited by', limitedBy(plan)],
      ['Break-even', breakEven(plan)],
      ['Prices', prices(candidates)],
    ]),
    words !== undefined && command(words, 'Command that simulates the best deployment'),
    vllm !== undefined && command(vllm, 'Command that starts one of its servers'),
    group(
      'Deployments',
      ...(candidates.length > 0
        ? [
            costBars(candidates, best !== undefined),
            limitBars(candidates),
            deploymentTable(candidates, best !== undefined),
            costTable(candidates),
          ]
        : [absent('No deployment was simulated.', 'Allow other GPUs or formats, or relax the limits.')]),
    ),
    group('Left out', excluded(plan)),
  ];
}

export function planSentence(plan: Json): string {
  const model = text(plan, 'model') ?? 'The model';
  const best = list(plan, 'deployments')[0];
  const gpus = num(plan, 'gpus') ?? num(best, 'gpus');
  if (best === undefined || gpus === undefined) {
    const nearest = get(plan, 'nearest');
    const near = has(plan, 'nearest') ? `; the closest is ${candidateName(nearest)}` : '';
    return `${model}: no deployment meets the limits${near}.`;
  }
  const cost = num(best, 'hourly_cost.usd');
  const bound = text(best, 'binding');
  const headroom = num(best, 'headroom');
  const left =
    bound === undefined || headroom === undefined
      ? ''
      : `; the limit that binds, ${limitInWords(bound)}, has ${signedPercent(headroom)} headroom`;
  const rate = num(best, 'requests_per_s');
  const served = rate === undefined ? '' : ` to serve ${threeDigits(rate)} requests/s within the limits`;
  const priced = cost === undefined ? '' : `, at ${fixed(cost, 2)} USD an hour`;
  return `${model} needs ${plural(gpus, 'GPU')}${served}: ${candidateName(best)}${priced}${left}.`;
}

function confidence(plan: Json): string {
  const share = num(plan, 'confidence');
  const isUnsettled = list(plan, 'deployments').length > 0 && !truth(plan, 'is_steady');
  const settled = isUnsettled ? ' The runs of the best deployment do not reach a steady state.' : '';
  return limitsApply(share) + settled;
}

/** Returns what the limits apply to. */
export function limitsApply(confidence: number | undefined): string {
  return confidence === undefined
    ? 'Limits apply to the predicted figures; with --confidence 0.9, to the far end of the intervals of the model.'
    : `Limits apply to the far end of intervals meant to contain ${percent(100 * confidence)} of measured servers.`;
}

function candidatesOf(plan: Json): Json[] {
  return [...list(plan, 'deployments'), ...(has(plan, 'nearest') ? [get(plan, 'nearest')] : [])];
}

export function limitsOf(plan: Json): string {
  const limits = texts(plan, 'limits')
    .map((limit) => (limitInWords(limit) === limit ? limit : `${limitInWords(limit)} (${limit})`))
    .join(', ');
  const [attainment, confidence] = [num(plan, 'attainment'), num(plan, 'confidence')];
  if (attainment !== undefined) return `${limits}, all met by ${Number((100 * attainment).toFixed(9))} % of requests`;
  return confidence === undefined
    ? limits
    : `${limits}, at the far end of intervals for ${percent(100 * confidence)} of servers`;
}

export function runs(plan: Json): string {
  const requests = num(plan, 'requests');
  const lasting =
    requests === undefined ? 'in a steady state, as long as the answer needs' : plural(requests, 'request');
  const [first, seeds] = [num(plan, 'first_seed') ?? 0, num(plan, 'seeds') ?? 1];
  return seeds === 1 ? lasting : `${lasting} with each of ${seeds} seeds, ${first} to ${first + seeds - 1}`;
}

function search(plan: Json): string {
  const least = num(plan, 'least_gpus');
  return (
    plural(num(plan, 'simulations') ?? 0, 'simulation') +
    (least === undefined ? '' : `; the load takes at least ${plural(least, 'GPU')} by step times alone`)
  );
}

/** Describes the setting that holds requests back; `answer` is what raising it gives. */
export function limitedSetting(json: Json, gives: string | undefined): string | undefined {
  const setting = text(json, 'limited_by.setting');
  const share = num(json, 'limited_by.share');
  if (setting === undefined || share === undefined) return undefined;
  const flags: Record<string, string> = {
    max_num_seqs: '--max-num-seqs',
    max_num_batched_tokens: '--max-num-batched-tokens',
  };
  const [value, raised] = [num(json, 'limited_by.value'), num(json, 'limited_by.raised_to')];
  const named = `${flags[setting] ?? 'the KV cache'}${value === undefined ? '' : ` ${fixed(value, 0)}`}`;
  const held = `${named}, which holds requests back during ${percent(100 * share)} of the time`;
  return raised === undefined ? held : `${held}; with ${fixed(raised, 0)}: ${gives ?? 'none meets the limits'}`;
}

function limitedBy(plan: Json): string | undefined {
  const gpus = num(plan, 'limited_by.gpus');
  const held = limitedSetting(plan, gpus === undefined ? undefined : plural(gpus, 'GPU'));
  return held === undefined ? undefined : `with one server less, ${held}`;
}

function breakEven(plan: Json): string | undefined {
  const all = list(plan, 'break_even').flatMap((json) => {
    const [gpu, usd] = [text(json, 'gpu'), num(json, 'usd_per_gpu_hour')];
    return gpu === undefined || usd === undefined
      ? []
      : [`${gpu} is the cheapest below ${fixed(usd, 2)} USD per GPU hour`];
  });
  return all.length === 0 ? undefined : all.join('; ');
}

function prices(candidates: Json[]): string {
  const all = candidates.flatMap((json) => {
    const origin = [text(json, 'hourly_cost.source'), text(json, 'hourly_cost.date')].filter(Boolean).join(', ');
    return origin === '' ? [] : [`${gpusOf(json)}: ${origin}`];
  });
  return [...new Set(all)].join('; ');
}

/** Columns of the table of deployments, as the command has them. */
export const DEPLOYMENT_COLUMNS = ['GPUs', 'GPU', 'Servers', 'Weights', 'KV', 'Binding limit', 'Reaches', 'Headroom'];

export function deploymentCells(json: Json): string[] {
  const bound = text(json, 'binding') ?? '-';
  const figure = list(json, 'figures').find((it) => text(it, 'limit') === bound);
  const headroom = num(json, 'headroom');
  const left = (num(json, 'overloaded') ?? 0) > 0 ? 'overload' : headroom === undefined ? '-' : signedPercent(headroom);
  return [
    fixed(num(json, 'gpus') ?? NaN, 0), gpusOf(json), servers(json),
    text(json, 'expert_dtype') ?? text(json, 'weight_dtype') ?? '-', text(json, 'kv_dtype') ?? '-',
    bound, reaches(figure, bound), left,
  ];
}

function reaches(figure: Json, limit: string): string {
  const [lowest, highest] = [num(figure, 'lowest'), num(figure, 'highest')];
  if (lowest === undefined || highest === undefined) return '-';
  const shown = (value: number): string =>
    limit === 'attainment' ? percent(100 * value) : value >= 10_000 ? latency(value) : threeDigits(value);
  return shown(lowest) === shown(highest) ? shown(highest) : `${shown(lowest)} to ${shown(highest)}`;
}

function deploymentTable(candidates: Json[], isMet: boolean): HTMLElement {
  const which = isMet ? 'Deployments, the best first' : 'The closest deployment, which misses the limits';
  return grid(`${which}; figures in ms`, DEPLOYMENT_COLUMNS, candidates.map(deploymentCells));
}

function costTable(candidates: Json[]): HTMLElement | undefined {
  const priced = candidates.filter((json) => has(json, 'hourly_cost'));
  if (priced.length === 0) return undefined;
  const usd = (value: number | undefined): string => value === undefined ? '-' : fixed(value, 2);
  const rows = priced.map((json) => {
    const request = num(json, 'hourly_cost.usd_per.request');
    return [
      candidateName(json),
      usd(num(json, 'hourly_cost.usd_per_gpu_hour')),
      usd(num(json, 'hourly_cost.usd')),
      usd(num(json, 'hourly_cost.usd_per.million_output_tokens')),
      usd(request === undefined ? undefined : 1e3 * request),
    ];
  });
  return grid(
    'Costs (USD)',
    ['Deployment', 'Per GPU hour', 'Per hour', 'Per 1M output tokens', 'Per 1000 requests'],
    rows,
  );
}

/** Kinds of servers that were left out, those of one reason together. */
function excluded(plan: Json): HTMLElement | undefined {
  const all = list(plan, 'excluded');
  if (all.length === 0) return undefined;
  const kind = (json: Json): string => {
    const formats = [text(json, 'dtype'), text(json, 'kv_dtype') && `KV ${text(json, 'kv_dtype')}`];
    return [degrees(json), ...formats, `on ${text(json, 'gpu') ?? 'unknown'}`].filter(Boolean).join(' ');
  };
  const rows = [...groupBy(all, (json) => text(json, 'reason') ?? 'no reason given')].map(([reason, kinds]) => [
    kinds.map(kind).join('; '),
    reason,
  ]);
  return folded(`${plural(all.length, 'kind')} of servers and why`, () =>
    grid('Kinds of servers that were left out', ['Servers', 'Reason'], rows),
  );
}
