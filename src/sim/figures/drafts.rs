//! Counts of speculative decoding.

/// Counts of speculative decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Drafts {
    /// Verifications: one per decoding request and step.
    pub verifications: u64,
    /// Drafted tokens that were verified.
    pub drafted_tokens: u64,
    /// Accepted drafted tokens, including tokens beyond the end of a request.
    pub accepted_tokens: u64,
    /// Output tokens: the accepted ones and one more per verification, up to the end of the request.
    pub yielded_tokens: u64,
}

impl Drafts {
    /// Returns the mean number of output tokens per verification.
    pub fn tokens_per_step(&self) -> f64 {
        self.yielded_tokens as f64 / self.verifications as f64
    }

    /// Returns the share of the drafted tokens that were accepted.
    pub fn accepted_share(&self) -> f64 {
        self.accepted_tokens as f64 / self.drafted_tokens as f64
    }
}
