/** Shares of the time of the steps as bars. */
import { chart } from '../../chart/index.js';
import { numbers, type Json } from '../../data/json.js';
import { percent } from '../../data/number.js';
import { group } from '../dom.js';

export function shares(run: Json): HTMLElement | undefined {
  return group(
    'Where the time goes',
    bars(run, 'time_share_by_part', (name, share) => `${share} of the step time goes to ${name}`, 'Part of a step'),
    bars(run, 'time_share_by_binding', (name, share) => `${share} of the step time is bound by ${name}`, 'Bound'),
    bars(run, 'time_share_by_source', (name, share) => `${share} of the step time is ${name}`, 'Origin'),
  );
}

/** Returns shares as bars, the largest first; nothing where there are none. */
function bars(
  json: Json,
  path: string,
  finding: (name: string, share: string) => string,
  label: string,
): HTMLElement | undefined {
  const all = numbers(json, path)
    .filter(([, share]) => share > 0)
    .sort(([, a], [, b]) => b - a);
  const [most] = all;
  if (!most) return undefined;
  return chart({
    title: finding(most[0], percent(100 * most[1])),
    x: { label: 'Share of the time (%)', scale: 'linear' },
    y: { label, scale: 'band', categories: all.map(([key]) => key) },
    series: [{ name: 'share', mark: 'bars', points: all.map(([, share], at) => ({ x: 100 * share, y: at })) }],
    height: 60 + 26 * all.length,
  });
}
