/** What the words of a report mean, for readers without the tool. */
import { grid, h } from './dom.js';

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
  ['qkv, o_proj', 'Parts of a step: the projections before and after the attention.'],
  [
    'prefill_attention, decode_attention',
    'Parts of a step: the attention over new prompt tokens, and that of decoding requests over their KV cache.',
  ],
  ['gate_up, down', 'Parts of a step: the projections of feed-forward layers, of experts only those of shared ones.'],
  [
    'router, moe, exchange',
    'Parts of a step: the choice of experts, the experts, and the transfers between data-parallel ranks around them.',
  ],
  [
    'all_reduce, transfer',
    'Parts of a step: sums over the GPUs of tensor parallelism, and hidden states sent to the next pipeline stage.',
  ],
  [
    'small_kernels',
    'Part of a step: norms, rotary embedding, activation, residual, KV write, and the gaps between kernels.',
  ],
  ['lm_head, sampling', 'Parts of a step: the projection to the vocabulary, and the choice of a token.'],
  ['host', 'Part of a step: the GPU waits for the processor.'],
  ['measured', 'A time that is a row of the tables of kernel measurements.'],
  ['interpolated', 'A time between rows of the same shape.'],
  ['smoothed', 'A time on a curve through many rows.'],
  ['transferred', 'A time with the efficiency of another shape or format, or of a context that was not measured.'],
  ['bound', 'A time of the roofline with an assumed share of the peak; no measurement backs it.'],
  ['fitted', 'A time of constants that were fitted to measured servers.'],
];

export function terms(): HTMLElement {
  // On paper they are unfolded.
  return h(
    'details',
    { class: 'folded terms' },
    h('summary', {}, 'What the words mean'),
    grid('Terms', ['Word', 'Meaning'], TERMS),
  );
}
