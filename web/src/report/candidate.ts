/** Names of the deployments of a plan. */
import { get, has, num, text, type Json } from '../data/json.js';
import { percent } from '../data/number.js';
import { degrees } from './run/degrees.js';
import { formats } from './run/deployment.js';

/** Returns a deployment: `2 × h100 tp 4, bf16`. */
export function candidateName(json: Json): string {
  return `${servers(json)} on ${gpusOf(json)}, ${formats(json)}`;
}

/** Returns short names, with the formats only where they differ. */
export function labels(candidates: Json[]): string[] {
  const isOfOne = new Set(candidates.map(formats)).size === 1;
  return candidates.map((json) => `${gpusOf(json)}, ${servers(json)}${isOfOne ? '' : `, ${formats(json)}`}`);
}

export function servers(json: Json): string {
  const [prefill, decode] = [num(json, 'prefill_replicas'), num(json, 'decode_replicas')];
  if (prefill === undefined || decode === undefined) return `${num(json, 'replicas') ?? 1} × ${degrees(json)}`;
  if (!has(json, 'prefill')) return `${prefill} prefill + ${decode} decode × ${degrees(json)}`;
  return `${prefill} prefill × ${degrees(get(json, 'prefill'))} + ${decode} decode × ${degrees(json)}`;
}

export function gpusOf(json: Json): string {
  const [own, other] = [text(json, 'gpu') ?? 'unknown', text(json, 'prefill.gpu')];
  return other === undefined || other === own ? own : `${other} + ${own}`;
}

export function signedPercent(share: number): string {
  return share < 0 ? `-${percent(-100 * share)}` : percent(100 * share);
}
