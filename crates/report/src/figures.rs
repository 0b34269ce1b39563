//! Latencies and goodput in milliseconds.

use rooflut::sim::figures::{self, Stats};
use rooflut::units::Seconds;
use serde::Serialize;

/// Mean and percentiles, milliseconds; all null where there is no such time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LatencyMs {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl From<Option<Stats>> for LatencyMs {
    fn from(stats: Option<Stats>) -> LatencyMs {
        LatencyMs {
            mean: stats.map(|s| s.mean.ms()),
            p50: stats.map(|s| s.p50.ms()),
            p90: stats.map(|s| s.p90.ms()),
            p95: stats.map(|s| s.p95.ms()),
            p99: stats.map(|s| s.p99.ms()),
        }
    }
}

/// Queue times at the beginning and at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QueueGrowth {
    /// Mean over the first quarter of the served requests, by arrival, milliseconds.
    pub first_quarter_ms: f64,
    /// Mean over the last quarter.
    pub last_quarter_ms: f64,
}

impl From<figures::QueueGrowth> for QueueGrowth {
    fn from(growth: figures::QueueGrowth) -> QueueGrowth {
        QueueGrowth {
            first_quarter_ms: growth.first_quarter.ms(),
            last_quarter_ms: growth.last_quarter.ms(),
        }
    }
}

/// Requests served within limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
    use super::*;

    #[test]
    fn limits_are_written_as_they_were_given() {
        for ms in [0.1, 0.3, 7.7, 20.0, 33.3, 123_456.789] {
            assert_eq!(limit_ms(Seconds(ms / 1e3)).to_string(), ms.to_string());
        }
    }
}
