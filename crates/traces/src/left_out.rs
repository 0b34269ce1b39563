//! Requests of a file that are left out.

use std::fmt;

/// Why a request of a file is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeftOut {
    /// A response of 0 tokens: BurstGPT's mark of a failure.
    NoResponse,
    /// An output of 0 tokens: the mark of a failure in vLLM's benchmark.
    NoOutput,
    /// The request has an error, as inference-perf records it.
    Error,
}

impl LeftOut {
    /// Returns the reason in a few words.
    pub fn reason(self) -> &'static str {
        match self {
            LeftOut::NoResponse => "failed, 0 response tokens",
            LeftOut::NoOutput => "failed, 0 output tokens",
            LeftOut::Error => "failed with an error",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

/// Counts requests that are left out, by reason.
#[derive(Default)]
pub(crate) struct Tally(Vec<(LeftOut, u64)>);

impl Tally {
    pub(crate) fn count(&mut self, reason: LeftOut) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.0.push((reason, 1)),
        }
    }

    pub(crate) fn into_counts(self) -> Vec<(LeftOut, u64)> {
        self.0
    }
}
