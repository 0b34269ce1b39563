//! Quantiles of latencies.

use alloc::vec::Vec;

use crate::units::Seconds;

/// Quantiles of each latency, one for each level that was asked for.
///
/// Quantiles at 0 and 1 are minimum and maximum. Chance decides a quantile beyond which few requests lie.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Quantiles {
    /// Time to first token; `None` if no request was served.
    pub ttft: Option<Vec<Seconds>>,
    /// Time per output token after the first; `None` if no served request has a second token.
    pub tpot: Option<Vec<Seconds>>,
    /// Inter-token latency; `None` without gaps.
    pub itl: Option<Vec<Seconds>>,
    /// Time from the arrival to the last token; `None` if no request was served.
    pub e2e: Option<Vec<Seconds>>,
    /// Time from arrival at the engine to the first scheduling; `None` if no request was served.
    pub queue: Option<Vec<Seconds>>,
}
