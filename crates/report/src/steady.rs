//! The steady state of a run.

use serde::Serialize;

/// The part of a run that its figures are of.
///
/// Without a window they are of the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Steady {
    /// Whether the figures describe a steady state, on servers that keep up with the load.
    pub is_steady: bool,
    /// Whether the load has no steady state: a trace, or one request per user.
    pub is_transient: bool,
    /// Begin of the window, seconds from the start; null without.
    pub from_s: Option<f64>,
    /// End of the window, the last arrival; null without.
    pub to_s: Option<f64>,
    /// Requests that were finished before the window; null without.
    pub warm_up_requests: Option<u64>,
    /// Requests that were finished after it; null without.
    pub drain_requests: Option<u64>,
    /// Half the width of the 95 % interval of a mean over the mean, the largest of TTFT, TPOT and end-to-end latency;
    /// null for too few requests.
    pub mean_error: Option<f64>,
}
