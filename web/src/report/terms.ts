/** What the words of a report mean, for readers without the tool. */
import { folded, grid } from './dom.js';

const TERMS: [string, string][] = [
  ['TTFT', 'Time to first token: from the arrival of a request to its first output token, queue included.'],
  ['TPOT', 'Time per output token after the first, a mean for each request.'],
  ['ITL', 'Inter-token latency: each gap between two tokens.'],
  ['E2E', 'Time from the arrival of a request to its last token.'],
  ['queue', 'Time from the arrival at the engine to the first scheduling.'],
  ['p99', '99 % of the requests are at most as slow; p50 is the median.'],
  [
    'tp, dp, pp, ep',
    'Tensor, data, pipeline and expert parallelism of a server; 2 × tp 4 is two servers of four GPUs each.',
  ],
  ['KV cache', 'Memory of the GPUs for the keys and values of running requests, in blocks.'],
  ['overloaded', 'Requests arrive faster than they are served, so the queue keeps growing.'],
  ['measured', 'A time that is a row of the tables of kernel measurements.'],
  ['interpolated', 'A time between rows of the same shape.'],
  ['smoothed', 'A time on a curve through many rows.'],
  ['transferred', 'A time with the efficiency of another shape or format, or of a context that was not measured.'],
  ['bound', 'A time of the roofline with an assumed share of the peak; no measurement backs it.'],
  ['fitted', 'A time of constants that were fitted to measured servers.'],
];

export function terms(): HTMLElement {
  return folded('What the words of this report mean', () => grid('Terms', ['Word', 'Meaning'], TERMS));
}
