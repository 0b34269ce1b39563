/** What step times alone say about a plan, before it is there. */
import { list, num, text, type Json } from '../data/json.js';
import { fixed, plural } from '../data/number.js';
import { answer, grid, paragraph, type Child } from '../report/dom.js';
import { degrees } from '../report/run/degrees.js';

export function boundsSection(least: Json): Child[] {
  const kinds = list(least, 'kinds');
  return [
    answer(boundsSentence(least)),
    paragraph('Simulations decide; they are under way.'),
    kinds.length > 0 &&
      grid(
        'The fewest servers that may meet the limits',
        ['Server', 'servers', 'GPUs'],
        kinds.map((kind) => [
          `${text(kind, 'gpu') ?? 'unknown'} ${degrees(kind)}`,
          whole(kind, 'least_servers'),
          whole(kind, 'least_gpus'),
        ]),
      ),
  ];
}

export function boundsSentence(least: Json): string {
  const model = text(least, 'model') ?? 'The model';
  const gpus = num(least, 'least_gpus');
  if (list(least, 'kinds').length === 0) return `${model}: no kind of server may meet the limits, by step times alone.`;
  return gpus === undefined
    ? `${model}: some kinds of servers may meet the limits.`
    : `${model} needs at least ${plural(gpus, 'GPU')}, by step times alone.`;
}

function whole(kind: Json, key: string): string {
  const value = num(kind, key);
  return value === undefined ? '-' : fixed(value, 0);
}
