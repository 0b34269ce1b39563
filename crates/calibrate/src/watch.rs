//! Whether a server is as it was.

use nalgebra::{DMatrix, DVector};

use crate::posterior::Posterior;
use crate::residual::{Metric, Residual};

/// Standard deviation of ln of the ratio of two measurements of one load, by [`Metric`], of a normal distribution whose
/// 95 % interval is about that of published servers that were measured twice: 95 % of 93 pairs differ by less than 5.5 % in
/// TPOT and 23 % in TTFT, the median by 0.4 and 2.4 %. `laboratory/fit/tests/watch.rs` counts the alarms.
///
/// Repeats within a day differ by less (0.5 to 0.8 % in the published sweeps), so that the difference is one between days,
/// which all runs of a day share: more of them do not narrow it.
const REPEAT: [f64; 2] = [0.03, 0.13];
/// Standard deviations beyond which a change is one: 2.5 % of normal values lie above, so that of two metrics at most 5 %
/// raise a false alarm.
const ALARM: f64 = 1.96;
/// Variance of a normal distribution of which 2.5 % lie above the same value as of the noise, whose quantile is 2.776.
const TAIL: f64 = (2.776 / ALARM) * (2.776 / ALARM);
/// Standard deviations further at which four of five changes are found.
const FOUND: f64 = 0.842;
/// Share of its variance by which the matrix of repeats, which are one, is made positive definite.
const RIDGE: f64 = 1e-9;

/// A new measurement of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct New {
    /// The number of its load: equal loads have equal numbers.
    pub load: usize,
    /// The error of the calibrated prediction.
    pub residual: Residual,
    /// ln(new / mean of the measurements of the calibration), where it has this load.
    pub since: Option<f64>,
}

/// The change of a metric since a calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// ln(measured / expected).
    pub change: f64,
    /// Its standard deviation, if the server is as it was.
    pub deviation: f64,
    /// New measurements.
    pub runs: usize,
}

impl Change {
    /// Returns the change of `metric` by new measurements, after a calibration to `posterior`; `None` without any.
    pub fn of(metric: Metric, new: &[New], posterior: &Posterior) -> Option<Change> {
        let day = metric.of(REPEAT).powi(2) / 2.0;
        let constants = posterior.covariance();
        let noise = TAIL * posterior.noise(metric);
        let between = |row: usize, column: usize| {
            let (Some(one), Some(other)) = (new.get(row), new.get(column)) else { return 0.0 };
            let ridge = if row == column { RIDGE * day } else { 0.0 };
            let shared = match (one.since, other.since) {
                // Two days: that of the calibration, and the new one.
                (Some(_), Some(_)) => 2.0 * day,
                (None, None) => {
                    let misfit = if one.load == other.load { noise } else { 0.0 };
                    day + misfit + one.residual.slopes.dot(&(constants * other.residual.slopes))
                }
                _ => day,
            };
            shared + ridge
        };
        let covariance = DMatrix::from_fn(new.len(), new.len(), between);
        let changes = new.iter().map(|new| new.since.unwrap_or(-new.residual.error));
        let changes = DVector::from_iterator(new.len(), changes);
        // The mean of least variance.
        let weights = covariance.cholesky()?.solve(&DVector::repeat(new.len(), 1.0));
        let total: f64 = weights.sum();
        (total > 0.0).then(|| Change {
            change: weights.dot(&changes) / total,
            deviation: (1.0 / total).sqrt(),
            runs: new.len(),
        })
    }

    /// Whether the server is slower, by more than chance explains in 97.5 % of repeats.
    pub fn is_slower(&self) -> bool {
        self.change > self.half_width()
    }

    /// Whether it is faster, likewise.
    pub fn is_faster(&self) -> bool {
        self.change < -self.half_width()
    }

    /// Returns the half width, as a logarithm, within which a server that is as it was stays.
    pub fn half_width(&self) -> f64 {
        ALARM * self.deviation
    }

    /// Returns the slowdown, as a logarithm, that is found in four of five cases.
    pub fn detectable(&self) -> f64 {
        (ALARM + FOUND) * self.deviation
    }
}
