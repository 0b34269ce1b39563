//! A step of an engine.

use serde::{Deserialize, Serialize};

/// A step of an engine: the columns of `rooflut run --steps-out` that a measurement can have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Step {
    /// Its duration, milliseconds.
    pub duration_ms: f64,
    /// Prompt tokens that it computed.
    pub prefill_tokens: u64,
    /// Requests for which it generated a token.
    pub decode_requests: u64,
    /// Tokens in the KV cache of these requests.
    pub kv_tokens: Option<u64>,
}

impl Step {
    /// Returns the mean duration in milliseconds, and the mean prompt tokens and decoding requests; `None` without steps.
    pub fn means(steps: &[Step]) -> Option<[f64; 3]> {
        let mean = |of: fn(&Step) -> f64| steps.iter().map(of).sum::<f64>() / steps.len() as f64;
        let figures: [fn(&Step) -> f64; 3] =
            [|step| step.duration_ms, |step| step.prefill_tokens as f64, |step| step.decode_requests as f64];
        (!steps.is_empty()).then(|| figures.map(mean))
    }
}
