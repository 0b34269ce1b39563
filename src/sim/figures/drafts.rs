//! What came of speculative decoding.

/// Tokens of speculative decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Drafts {
    /// Requests that verified drafts, counted in each step.
    pub verifications: u64,
    /// Tokens that were drafted and verified.
    pub drafted_tokens: u64,
    /// Those of them that were accepted, the ones beyond the end of a request included.
    pub accepted_tokens: u64,
    /// Tokens that the requests had: the accepted ones and one more of each verification, up to the end of the
    /// request.
    pub yielded_tokens: u64,
}

impl Drafts {
    /// Tokens that a step yielded for each request that verified drafts, on average.
    pub fn tokens_per_step(&self) -> f64 {
        self.yielded_tokens as f64 / self.verifications as f64
    }

    /// Share of the drafted tokens that were accepted.
    pub fn accepted_share(&self) -> f64 {
        self.accepted_tokens as f64 / self.drafted_tokens as f64
    }
}
