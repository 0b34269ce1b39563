//! Errors of predictions, to first order in the constants.

use nalgebra::{SMatrix, SVector};

/// Number of constants.
pub const CONSTANTS: usize = 10;

/// A value for each constant.
pub type Vector = SVector<f64, CONSTANTS>;
/// A value for each pair of constants.
pub(crate) type Matrix = SMatrix<f64, CONSTANTS, CONSTANTS>;

/// A compared metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Time per output token after the first.
    Tpot,
    /// Time to the first token.
    Ttft,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Metric; 2] = [Metric::Tpot, Metric::Ttft];

    /// Returns the value for this metric of values by metric.
    pub fn of<T>(self, [tpot, ttft]: [T; 2]) -> T {
        match self {
            Metric::Tpot => tpot,
            Metric::Ttft => ttft,
        }
    }
}

/// The error of a prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// The compared metric.
    pub metric: Metric,
    /// ln(predicted / measured).
    pub error: f64,
    /// Derivatives of ln(predicted) by the constants.
    pub slopes: Vector,
}
