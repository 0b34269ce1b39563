//! The work of one step, and what it means for its requests.

use alloc::vec::Vec;
use core::slice;

use crate::sim::sequence::{Sequence, Work};
use crate::step::{Chunk, DecodeGroup, StepBatch};

/// A scheduled step. Requests are named by their place in the list of requests.
#[derive(Debug)]
pub(super) struct Plan {
    /// Counts scheduled steps from 1.
    number: u64,
    chunks: Vec<Chunk>,
    decode: DecodeGroup,
    /// Requests that leave the queue.
    pub(super) admitted: Vec<usize>,
    /// Requests that lost their blocks for it.
    pub(super) preempted: Vec<usize>,
    /// Requests whose first token it yields.
    pub(super) first_tokens: Vec<usize>,
    /// Requests whose last token it yields.
    pub(super) finished: Vec<usize>,
}

impl Plan {
    /// No work.
    pub(super) fn new() -> Plan {
        Plan {
            number: 0,
            chunks: Vec::new(),
            decode: DecodeGroup {
                requests: 0,
                kv_tokens: 0,
            },
            admitted: Vec::new(),
            preempted: Vec::new(),
            first_tokens: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Becomes step `number`, with no work yet.
    pub(super) fn reset(&mut self, number: u64) {
        self.clear();
        self.number = number;
    }

    /// Forgets its work; the buffers stay.
    pub(super) fn clear(&mut self) {
        self.chunks.clear();
        self.decode = DecodeGroup {
            requests: 0,
            kv_tokens: 0,
        };
        self.admitted.clear();
        self.preempted.clear();
        self.first_tokens.clear();
        self.finished.clear();
    }

    /// The step's number.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether there is nothing to compute.
    pub(super) fn is_empty(&self) -> bool {
        self.batch().is_empty()
    }

    /// The work as a latency model sees it: chunks one by one, decoding requests as one sum.
    pub(super) fn batch(&self) -> StepBatch<'_> {
        let decode = slice::from_ref(&self.decode);
        StepBatch {
            prefill: &self.chunks,
            decode: if self.decode.requests == 0 {
                &[]
            } else {
                decode
            },
        }
    }

    /// Advances `sequence` by `tokens` in this step.
    pub(super) fn add(&mut self, sequence: &mut Sequence, tokens: u32) {
        match sequence.advance(tokens) {
            Work::Chunk { new, context, last } => {
                self.chunks.push(Chunk {
                    new,
                    context,
                    samples: u32::from(last),
                });
                if !last {
                    return;
                }
            }
            Work::Decode { kv_tokens } => {
                self.decode.requests += 1;
                self.decode.kv_tokens += u64::from(kv_tokens);
            }
        }
        if sequence.is_at_first_token() {
            self.first_tokens.push(sequence.request);
        }
        if sequence.is_complete() {
            self.finished.push(sequence.request);
            sequence.last_step = Some(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Request;

    #[test]
    fn a_plan_sums_decodes_and_names_who_starts_and_who_ends() {
        let request = |prompt_tokens, output_tokens| Request {
            prompt_tokens,
            output_tokens,
            ..Request::default()
        };
        let mut a = Sequence::new(3, &request(10, 2), 16);
        let mut b = Sequence::new(8, &request(40, 1), 16);
        let mut plan = Plan::new();
        assert!(plan.is_empty());

        plan.reset(1);
        plan.add(&mut a, 10);
        plan.add(&mut b, 30);
        assert_eq!(plan.batch().tokens(), 40);
        assert_eq!(plan.batch().sampled_tokens(), 1);
        assert!(plan.batch().decode.is_empty());
        assert_eq!(plan.first_tokens, [3]);
        assert!(plan.finished.is_empty());

        plan.reset(2);
        plan.add(&mut a, 1);
        plan.add(&mut b, 10);
        assert_eq!(plan.batch().decode_kv_tokens(), 11);
        assert_eq!(plan.batch().prefill[0].context, 30);
        assert_eq!(plan.first_tokens, [8]);
        assert_eq!(plan.finished, [3, 8]);
        assert_eq!(a.last_step, Some(2));
    }
}
