/** Charts of the deployments of a plan. */
import { chart, type Point, type Series } from '../chart/index.js';
import { list, num, text, type Json } from '../data/json.js';
import { fixed, plural } from '../data/number.js';
import { candidateName, labels, signedPercent } from './candidate.js';
import { limitInWords } from './limits.js';

/** Costs of the deployments, or their GPUs where a price is missing. */
export function costBars(candidates: Json[], isMet: boolean): HTMLElement {
  const costs = candidates.map((json) => num(json, 'hourly_cost.usd'));
  const isPriced = costs.every((cost) => cost !== undefined);
  const values = isPriced ? costs : candidates.map((json) => num(json, 'gpus'));
  const points = values.flatMap((x, y): Point[] => {
    const json = candidates[y];
    const bound = text(json, 'binding');
    const headroom = num(json, 'headroom');
    const left = headroom === undefined ? '' : `, headroom ${signedPercent(headroom)}`;
    const binds = bound === undefined ? '' : `, ${limitInWords(bound)} binds${left}`;
    return x === undefined ? [] : [{ x, y, note: `${plural(num(json, 'gpus') ?? 0, 'GPU')}${binds}` }];
  });
  const best = isPriced ? cheapest(candidates, costs) : 'GPUs of each deployment';
  return chart({
    title: isMet ? best : 'Closest deployment; it misses the limits',
    ...(isMet ? { note: 'The best first, each of another kind of server.' } : {}),
    x: { label: isPriced ? 'Cost (USD per hour)' : 'GPUs', scale: 'linear', digits: 4 },
    y: { label: 'Deployment', scale: 'band', categories: labels(candidates) },
    series: [{ name: isPriced ? 'USD per hour' : 'GPUs', mark: 'bars', points }],
    height: 70 + 28 * candidates.length,
  });
}

function cheapest(candidates: Json[], costs: (number | undefined)[]): string {
  const least = Math.min(...costs.map((cost) => cost ?? Infinity));
  return `${candidateName(candidates[costs.indexOf(least)])} costs least: ${fixed(least, 2)} USD an hour`;
}

/** How much of each limit the figures take, over the seeds. */
export function limitBars(candidates: Json[]): HTMLElement | undefined {
  const names = [
    ...new Set(candidates.flatMap((json) => list(json, 'figures').map((figure) => text(figure, 'limit')))),
  ];
  const series = names.flatMap((limit): Series[] => {
    const points = candidates.flatMap((json, y): Point[] => {
      const figure = list(json, 'figures').find((it) => text(it, 'limit') === limit);
      const [bound, lowest, highest] = [num(figure, 'bound'), num(figure, 'lowest'), num(figure, 'highest')];
      if (!bound || lowest === undefined || highest === undefined) return [];
      return [{ x: (100 * highest) / bound, y, low: (100 * lowest) / bound, high: (100 * highest) / bound }];
    });
    return limit === undefined || points.length === 0 ? [] : [{ name: limitInWords(limit), mark: 'bars', points }];
  });
  if (series.length === 0) return undefined;
  return chart({
    title: 'Share of each limit that is used (%)',
    note: 'The highest value over the seeds; the whisker ends at the lowest.',
    x: { label: 'Figure over its limit (%)', scale: 'linear' },
    y: { label: 'Deployment', scale: 'band', categories: labels(candidates) },
    series,
    limits: [{ axis: 'x', value: 100, label: 'limit' }],
    height: 70 + candidates.length * (14 + 14 * series.length),
  });
}
