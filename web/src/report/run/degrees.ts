/** Degrees of parallelism as text. */
import { num, truth, type Json } from '../../data/json.js';

/** Returns the degrees of parallelism of a server: `tp 4 pp 2 ep`. */
export function degrees(json: Json): string {
  const beyond = (key: string): string => {
    const degree = num(json, key) ?? 1;
    return degree === 1 ? '' : ` ${key} ${degree}`;
  };
  return `tp ${num(json, 'tp') ?? 1}${beyond('dp')}${beyond('pp')}${truth(json, 'expert_parallel') ? ' ep' : ''}`;
}
