/** The section of memory: what GPUs hold beside the weights of the model. */
import { list, num, text, texts, type Json } from '../data/json.js';
import { fixed, plural, threeDigits } from '../data/number.js';
import { answer, grid, notes, type Child } from '../report/dom.js';
import { degrees } from '../report/run/degrees.js';

/** Shows the answer of `rooflut fits --json`. */
export function memorySection(fits: Json): Child[] {
  const deployments = list(fits, 'deployments');
  return [
    answer(sentence(fits, deployments)),
    notes(texts(fits, 'notes')),
    deployments.length > 0 && grid('What GPUs hold beside the weights', COLUMNS, deployments.map(row)),
  ];
}

function sentence(fits: Json, deployments: Json[]): string {
  const model = text(fits, 'model') ?? 'The model';
  const tokens = num(fits, 'tokens');
  const each = tokens === undefined ? '' : ` of ${fixed(tokens, 0)} tokens`;
  const able = deployments.filter((one) => text(one, 'missing') === undefined);
  const least = able.sort((a, b) => (num(a, 'gpus') ?? 0) - (num(b, 'gpus') ?? 0))[0];
  if (least === undefined) {
    return `${model}: none of these GPUs holds ${plural(num(fits, 'requests') ?? 1, 'request')}${each}.`;
  }
  const gpus = plural(num(least, 'gpus') ?? 1, `${text(least, 'gpu') ?? ''} GPU`.trim());
  const held = num(least, 'holds.requests');
  const room = held === undefined ? '' : `, with room for ${threeDigits(held)} requests${each} at once`;
  return `${model} fits on ${gpus} (${degrees(least)})${room}.`;
}

const COLUMNS = [
  'Deployment',
  'GPUs',
  'weights GB a GPU',
  'KV cache GB a GPU',
  'KV tokens',
  'longest request',
  'requests at once',
  'missing',
];

function row(one: Json): string[] {
  const gb = (key: string): string => shown(num(one, key), (bytes) => threeDigits(bytes / 1e9));
  const whole = (key: string): string => shown(num(one, key), (value) => fixed(value, 0));
  return [
    `${text(one, 'gpu') ?? 'unknown'} ${degrees(one)}`,
    whole('gpus'),
    gb('holds.weight_bytes'),
    gb('holds.kv_bytes'),
    whole('holds.kv_tokens'),
    whole('holds.longest_request'),
    shown(num(one, 'holds.requests'), threeDigits),
    text(one, 'missing') ?? '',
  ];
}

function shown(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '-' : format(value);
}
