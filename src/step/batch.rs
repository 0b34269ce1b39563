//! What one engine step works on: lengths only.

/// The tokens of one engine step.
///
/// Integers only, and no identity: an engine passes sums, a debugger single requests, and the answer
/// is the same. A request's future output length cannot be expressed, so no latency model can use it.
///
/// ```
/// use rooflut::step::{Chunk, DecodeGroup, StepBatch};
/// // One prompt of 512 tokens, and 64 requests that decode at 1,000 tokens of context each.
/// let batch = StepBatch {
///     prefill: &[Chunk { new: 512, context: 0, samples: 1 }],
///     decode: &[DecodeGroup { requests: 64, kv_tokens: 64_000, drafted: 0 }],
/// };
/// assert_eq!(batch.tokens(), 576);
/// assert_eq!(batch.sampled_tokens(), 65);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepBatch<'a> {
    /// Prompt chunks computed in this step.
    pub prefill: &'a [Chunk],
    /// Requests that decode.
    pub decode: &'a [DecodeGroup],
}

/// A run of prompt tokens of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Tokens computed in this step.
    pub new: u32,
    /// Tokens of the same request already in the KV cache.
    pub context: u32,
    /// Tokens sampled after it: 1 for the last chunk of a prompt, 0 before.
    pub samples: u32,
}

/// Requests that decode: one new token each, and with speculative decoding the drafted ones after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeGroup {
    /// How many requests.
    pub requests: u32,
    /// Sum of their KV lengths, the new tokens included.
    pub kv_tokens: u64,
    /// Tokens drafted for each request, which the step verifies; 0 without speculative decoding.
    pub drafted: u32,
}

impl DecodeGroup {
    /// Tokens that pass through the layers.
    #[inline]
    pub fn tokens(&self) -> u64 {
        u64::from(self.requests) * (1 + u64::from(self.drafted))
    }
}

impl StepBatch<'_> {
    /// Tokens that pass through the layers.
    pub fn tokens(&self) -> u64 {
        self.prefill_tokens().saturating_add(self.decode_tokens())
    }

    /// New prompt tokens.
    pub fn prefill_tokens(&self) -> u64 {
        self.prefill.iter().map(|chunk| u64::from(chunk.new)).sum()
    }

    /// Requests that decode.
    pub fn decode_requests(&self) -> u64 {
        self.decode
            .iter()
            .map(|group| u64::from(group.requests))
            .sum()
    }

    /// Tokens of these that pass through the layers, drafted ones included; at most `u64::MAX`.
    pub fn decode_tokens(&self) -> u64 {
        let groups = self.decode.iter();
        groups.fold(0, |sum, group| sum.saturating_add(group.tokens()))
    }

    /// Sum of the KV lengths of the requests that decode, at most `u64::MAX`; a group without
    /// requests counts nothing.
    pub fn decode_kv_tokens(&self) -> u64 {
        let groups = self.decode.iter().filter(|group| group.requests > 0);
        groups.fold(0, |sum, group| sum.saturating_add(group.kv_tokens))
    }

    /// Rows of the step that pass through the lm_head and the sampler: those of every token that decodes;
    /// no chunk samples more rows than it has new tokens.
    pub fn sampled_tokens(&self) -> u64 {
        let prefill: u64 = self
            .prefill
            .iter()
            .map(|chunk| u64::from(chunk.samples.min(chunk.new)))
            .sum();
        prefill.saturating_add(self.decode_tokens())
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.tokens() == 0
    }
}
