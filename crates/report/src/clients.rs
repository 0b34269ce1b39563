//! Clients that give up.

use serde::Serialize;

/// Clients that close the connection if the first token does not come in time. Each retry is a request of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clients {
    /// How long they wait for the first token, seconds from the arrival.
    pub patience_s: f64,
    /// How often they send a request again.
    pub retries_per_request: u32,
    /// Requests that they gave up; they count as rejected, too.
    pub abandoned: u64,
    /// Share of these in all requests.
    pub abandoned_share: f64,
    /// Requests that were sent again.
    pub retries: u64,
    /// Share of these in all requests.
    pub retry_share: f64,
}
