/** Shares of the time of the steps as bars. */
import { chart } from '../../chart/index.js';
import { numbers, type Json } from '../../data/json.js';
import { percent } from '../../data/number.js';
import { group } from '../dom.js';

export function shares(run: Json): HTMLElement | undefined {
  return group(
    'Where the time goes',
    bars(run, 'time_share_by_part', 'Share of the step time by part (%)', 'Part of a step'),
    bars(run, 'time_share_by_binding', 'Share of the step time by what bounds it (%)', 'Bound'),
    bars(run, 'time_share_by_source', 'Share of the step time by origin of the numbers (%)', 'Origin'),
  );
}

/** Returns shares as bars, the largest first; nothing where there are none. */
function bars(json: Json, path: string, title: string, label: string): HTMLElement | undefined {
  const all = numbers(json, path).filter(([, share]) => share > 0).sort(([, a], [, b]) => b - a);
  if (all.length === 0) return undefined;
  return chart({
    title,
    x: { label: 'share of the time (%)', scale: 'linear', format: percent, domain: [0, Math.max(...all.map(([, share]) => 100 * share))] },
    y: { label, scale: 'band', categories: all.map(([name]) => name.replaceAll('_', ' ')) },
    series: [{ name: 'share', mark: 'bars', points: all.map(([, share], at) => ({ x: 100 * share, y: at })) }],
    height: 60 + 26 * all.length,
  });
}
