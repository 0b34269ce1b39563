//! The work of one step, and what it means for its requests.

use super::sequence::{Sequence, Work};
use rooflut::step::{Chunk, DecodeGroup, StepBatch};

/// A scheduled step. Requests are named by their place in the list of requests.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Counts scheduled steps from 1.
    pub(crate) number: u64,
    chunks: Vec<Chunk>,
    /// Requests that decode, by their number of drafts.
    decode: Vec<DecodeGroup>,
    /// Requests that leave the queue, with the tokens that they find in the prefix cache.
    pub(crate) admitted: Vec<(usize, u32)>,
    /// Requests that lost their blocks for it.
    pub(crate) preempted: Vec<usize>,
    /// Requests that have a token from it.
    pub(crate) tokens: Vec<usize>,
    /// Requests whose first token it yields.
    pub(crate) first_tokens: Vec<usize>,
    /// Requests whose last token it yields.
    pub(crate) finished: Vec<usize>,
}

impl Plan {
    /// Becomes step `number`, with no work yet.
    pub(crate) fn reset(&mut self, number: u64) {
        *self = Plan { number, ..Plan::default() };
    }

    /// Whether there is nothing to compute.
    pub(crate) fn is_empty(&self) -> bool {
        self.batch().is_empty()
    }

    /// The work as a latency model sees it: chunks one by one, decoding requests as sums.
    pub(crate) fn batch(&self) -> StepBatch<'_> {
        StepBatch { prefill: &self.chunks, decode: &self.decode }
    }

    /// Whether a prompt is computed.
    pub(crate) fn has_chunks(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Adds the tokens of a preempted request, which are computed and lost.
    pub(crate) fn add_lost(&mut self, tokens: u32) {
        self.chunks.push(Chunk::partial(tokens, tokens).unwrap());
    }

    /// Advances `sequence` by `tokens` in this step.
    pub(crate) fn add(&mut self, sequence: &mut Sequence, tokens: u32) {
        match sequence.advance(tokens, self.number) {
            Work::Chunk { new, context, last } => {
                if !last {
                    let chunk = Chunk::partial(new, context + new);
                    self.chunks.push(chunk.unwrap());
                    return;
                }
                self.chunks.push(Chunk::last(new, context + new).unwrap());
            }
            Work::Decode { kv_tokens, outside, samples } => {
                let (drafted, kv_tokens) = (tokens - 1, u64::from(kv_tokens));
                let sum = |requests, kv_tokens, outside| {
                    let sum = DecodeGroup::from_sum(requests, kv_tokens).unwrap().with_drafted(drafted).unwrap();
                    sum.with_outside(outside).unwrap()
                };
                let outside = u64::from(outside);
                let mut groups = self.decode.iter_mut();
                match groups.find(|group| group.drafted() == drafted) {
                    Some(group) => {
                        *group =
                            sum(group.requests() + 1, group.kv_tokens() + kv_tokens, group.outside_tokens() + outside);
                    }
                    None => self.decode.push(sum(1, kv_tokens, outside)),
                }
                if !samples {
                    return;
                }
            }
        }
        self.tokens.push(sequence.request);
        if sequence.is_at_first_token() {
            self.first_tokens.push(sequence.request);
        }
        if sequence.is_complete() {
            self.finished.push(sequence.request);
            sequence.last_step = Some(self.number);
        }
    }
}
