//! Rows of the tables that stand out from their neighbours.

use serde::Serialize;

use crate::sources::Shares;

/// Rows that the time of steps depends on and that are far from what their neighbours suggest: one row, or several of a
/// kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlaggedRow {
    /// The row: its operation with the names and values of its columns; for several rows their number and kind.
    pub row: String,
    /// Its latency, microseconds; `None` for several rows.
    pub latency_us: Option<f64>,
    /// The latency that its neighbours suggest, microseconds; `None` for several rows.
    pub expected_us: Option<f64>,
    /// The parts of the steps that use the rows, each with the relative change of its time if they had the latency
    /// that their neighbours suggest.
    pub parts: Shares,
}
