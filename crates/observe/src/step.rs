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
