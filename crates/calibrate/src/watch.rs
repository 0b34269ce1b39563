//! Whether a server is as it was.

use nalgebra::{DMatrix, DVector};

use crate::posterior::Posterior;
use crate::residual::{Metric, Residual};

/// Standard deviation of ln of the ratio of two measurements of one load, by [`Metric`], of a normal distribution whose
/// 95 % interval is about that of published servers that were measured twice, on different days: 95 % of 93 pairs differ
/// by less than 5.5 % in TPOT and 23 % in TTFT (the median by 0.4 and 2.4 %). `laboratory/fit/tests/watch.rs` counts the
/// alarms.
const REPEAT: [f64; 2] = [0.03, 0.13];
/// Standard deviations beyond which a change is one: 2.5 % of normal values lie above, so that of two metrics at most 5 %
/// raise a false alarm.
const ALARM: f64 = 1.96;
/// Standard deviations further at which four of five changes are found.
const FOUND: f64 = 0.842;
/// The slowdown that the number of runs is for.
const SLOWDOWN: f64 = 0.05;

/// A new measurement of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum New {
    /// Of a load of the calibration: ln(new / mean of the former), and how many there were.
    Repeat {
        /// ln(new / mean of the former).
        change: f64,
        /// Number of former measurements.
        of: usize,
    },
    /// Of another load: the error of the calibrated prediction.
    Other(Residual),
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
    /// Runs with which four of five slowdowns by 5 % are found.
    pub runs_needed: usize,
}

impl Change {
    /// Returns the change of `metric` by new measurements, after a calibration to `posterior`; `None` without any.
    pub fn of(metric: Metric, new: &[New], posterior: &Posterior) -> Option<Change> {
        let repeat = match metric {
            Metric::Tpot => REPEAT[0],
            Metric::Ttft => REPEAT[1],
        };
        let covariance = posterior.covariance();
        let between = |row: usize, column: usize| match (new.get(row), new.get(column)) {
            (Some(New::Repeat { of, .. }), _) if row == column => repeat * repeat * (1.0 + 1.0 / *of as f64) / 2.0,
            (Some(New::Other(one)), Some(New::Other(other))) => {
                let noise = if row == column { posterior.noise(metric) } else { 0.0 };
                one.slopes.dot(&(covariance * other.slopes)) + noise
            }
            _ => 0.0,
        };
        let covariance = DMatrix::from_fn(new.len(), new.len(), between);
        let changes = DVector::from_iterator(
            new.len(),
            new.iter().map(|new| match new {
                New::Repeat { change, .. } => *change,
                New::Other(residual) => -residual.error,
            }),
        );
        // The mean of least variance.
        let weights = covariance.clone().cholesky()?.solve(&DVector::repeat(new.len(), 1.0));
        let total: f64 = weights.sum();
        let single = covariance.diagonal().mean();
        let enough = (((ALARM + FOUND) / SLOWDOWN.ln_1p()).powi(2) * single).ceil();
        (total > 0.0).then(|| Change {
            change: weights.dot(&changes) / total,
            deviation: (1.0 / total).sqrt(),
            runs: new.len(),
            runs_needed: enough as usize,
        })
    }

    /// Whether the server is slower, by more than chance explains in 97.5 % of repeats.
    pub fn is_slower(&self) -> bool {
        self.change > ALARM * self.deviation
    }

    /// Whether it is faster, likewise.
    pub fn is_faster(&self) -> bool {
        self.change < -ALARM * self.deviation
    }

    /// Returns the half width, as a logarithm, within which a server that is as it was stays.
    pub fn half_width(&self) -> f64 {
        ALARM * self.deviation
    }
}
