//! Rows of the tables that stand out from their neighbours.

use serde::Serialize;

use crate::sources::Shares;

/// A row that is far from what its neighbours suggest, and on which the time of steps depends.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlaggedRow {
    /// The row: its operation with the names and values of its columns.
    pub row: String,
    /// Its latency, microseconds.
    pub latency_us: f64,
    /// The latency that its neighbours suggest, microseconds.
    pub expected_us: f64,
    /// The parts of the steps that use the row, each with the relative change of its time if the row had that latency.
    pub parts: Shares,
}
