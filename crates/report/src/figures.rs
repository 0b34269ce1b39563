//! Latencies and goodput in milliseconds.

use rooflut::sim::figures::{self, Stats};
use rooflut::units::Seconds;
use serde::{Deserialize, Serialize};

/// Mean and percentiles; null where a figure is not known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Percentiles<T> {
    /// Mean.
    pub mean: Option<T>,
    /// Median.
    pub p50: Option<T>,
    /// 90th percentile.
    pub p90: Option<T>,
    /// 95th percentile.
    pub p95: Option<T>,
    /// 99th percentile.
    pub p99: Option<T>,
    /// 99.9th percentile.
    pub p99_9: Option<T>,
}

impl<T> Percentiles<T> {
    /// Returns the mean and the percentiles, in ascending order.
    pub fn all(self) -> [Option<T>; 6] {
        [self.mean, self.p50, self.p90, self.p95, self.p99, self.p99_9]
    }
}

/// Mean and percentiles, milliseconds; all null where there is no such time.
///
/// A percentile is null if fewer than [`MIN_BEYOND`](LatencyMs::MIN_BEYOND) completed requests are expected beyond it,
/// because chance would decide the percentile: p99.9 needs 5,000 completed requests, p99 500, p95 100, p90 50 and p50 10.
pub type LatencyMs = Percentiles<f64>;

impl LatencyMs {
    /// Least number of requests that are expected beyond a percentile.
    pub const MIN_BEYOND: u64 = 5;

    /// Returns the figures of `completed` requests.
    pub fn of(stats: Option<Stats>, completed: u64) -> LatencyMs {
        let known = |per_mille: u64, of: fn(&Stats) -> Seconds| {
            let enough = completed.saturating_mul(1_000 - per_mille) >= 1_000 * LatencyMs::MIN_BEYOND;
            stats.as_ref().filter(|_| enough).map(|s| of(s).ms())
        };
        LatencyMs {
            mean: stats.map(|s| s.mean.ms()),
            p50: known(500, |s| s.p50),
            p90: known(900, |s| s.p90),
            p95: known(950, |s| s.p95),
            p99: known(990, |s| s.p99),
            p99_9: known(999, |s| s.p99_9),
        }
    }
}

/// Queue times at the beginning and at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct QueueGrowth {
    /// Mean over the first quarter of the served requests, by arrival, milliseconds.
    pub first_quarter_ms: f64,
    /// Mean over the last quarter.
    pub last_quarter_ms: f64,
}

impl From<figures::QueueGrowth> for QueueGrowth {
    fn from(growth: figures::QueueGrowth) -> QueueGrowth {
        QueueGrowth { first_quarter_ms: growth.first_quarter.ms(), last_quarter_ms: growth.last_quarter.ms() }
    }
}

/// Requests served within limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Goodput {
    /// Limit on the time to first token, milliseconds.
    pub ttft_ms: Option<f64>,
    /// Limit on the time per output token.
    pub tpot_ms: Option<f64>,
    /// Limit on the time from the arrival to the last token.
    pub e2e_ms: Option<f64>,
    /// Requests that met all limits.
    pub met: u64,
    /// These per second of the makespan.
    pub requests_per_s: f64,
}

impl From<figures::Goodput> for Goodput {
    fn from(goodput: figures::Goodput) -> Goodput {
        let limits = goodput.limits;
        Goodput {
            ttft_ms: limits.ttft.map(limit_ms),
            tpot_ms: limits.tpot.map(limit_ms),
            e2e_ms: limits.e2e.map(limit_ms),
            met: goodput.met,
            requests_per_s: goodput.per_s,
        }
    }
}

/// A limit in milliseconds as it was given: to the nanosecond, without the noise of a conversion.
fn limit_ms(limit: Seconds) -> f64 {
    (limit.ms() * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use rooflut::sim::{Request, Simulator};
    use rooflut::step::{LatencyModel, StepBatch};

    use super::*;

    struct Steady;

    impl LatencyModel for Steady {
        fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
            Seconds(0.01)
        }
    }

    #[test]
    fn a_percentile_needs_five_requests_beyond_it() {
        let config = rooflut::sim::SimConfig::new(64, 8);
        let server = Simulator::try_new(Steady, config).unwrap();
        let stats = server.run(&[Request::new(8, 2)]).unwrap().summary.ttft;
        let known = |completed| {
            let figures = LatencyMs::of(stats, completed).all();
            figures.map(|figure| figure.is_some())
        };
        assert_eq!(known(9), [true, false, false, false, false, false]);
        assert_eq!(known(10), [true, true, false, false, false, false]);
        assert_eq!(known(50), [true, true, true, false, false, false]);
        assert_eq!(known(99), [true, true, true, false, false, false]);
        assert_eq!(known(100), [true, true, true, true, false, false]);
        assert_eq!(known(499), [true, true, true, true, false, false]);
        assert_eq!(known(500), [true, true, true, true, true, false]);
        assert_eq!(known(4_999), [true, true, true, true, true, false]);
        assert_eq!(known(5_000), [true; 6]);
    }

    #[test]
    fn limits_are_written_as_they_were_given() {
        for ms in [0.1, 0.3, 7.7, 20.0, 33.3, 123_456.789] {
            assert_eq!(limit_ms(Seconds(ms / 1e3)).to_string(), ms.to_string());
        }
    }
}
