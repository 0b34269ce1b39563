//! Figures over several seeds.

use serde::Serialize;

use crate::figures::{LatencyMs, Percentiles};

/// Lowest, mean and highest value of a figure over runs that differ only in their seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Spread {
    /// Lowest value.
    pub lowest: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Highest value.
    pub highest: f64,
}

impl Spread {
    /// Returns the spread of `values`; `None` without values, or if a value is not known.
    pub fn of(values: impl Iterator<Item = Option<f64>>) -> Option<Spread> {
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        Some(Spread {
            lowest: values.iter().copied().min_by(f64::total_cmp)?,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            highest: values.iter().copied().max_by(f64::total_cmp)?,
        })
    }
}

/// Spreads of the mean and the percentiles of a latency, milliseconds; null where a seed does not have the figure.
pub type LatencySpread = Percentiles<Spread>;

impl LatencySpread {
    /// Returns the spreads of the figures of `runs`.
    pub fn of_runs(runs: impl Iterator<Item = LatencyMs> + Clone) -> LatencySpread {
        let spread = |pick: fn(&LatencyMs) -> Option<f64>| Spread::of(runs.clone().map(|ms| pick(&ms)));
        Percentiles {
            mean: spread(|ms| ms.mean),
            p50: spread(|ms| ms.p50),
            p90: spread(|ms| ms.p90),
            p95: spread(|ms| ms.p95),
            p99: spread(|ms| ms.p99),
            p99_9: spread(|ms| ms.p99_9),
        }
    }
}

/// Figures of a run over several seeds ([`Report::over_seeds`](crate::Report::over_seeds)).
///
/// Intervals go from the lowest to the highest value, without an assumption on the distribution: if the seeds are
/// independent draws, another one falls inside with a probability of [`coverage`](Seeds::coverage).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Seeds {
    /// The first seed; the other seeds follow consecutively.
    pub first: u64,
    /// Number of seeds.
    pub count: u64,
    /// Probability that the value of another seed lies within the interval of a figure: (count - 1) / (count + 1).
    pub coverage: f64,
    /// Time to first token.
    pub ttft_ms: LatencySpread,
    /// Time per output token after the first.
    pub tpot_ms: LatencySpread,
    /// Inter-token latency.
    pub itl_ms: LatencySpread,
    /// Time from the arrival to the last token.
    pub e2e_ms: LatencySpread,
    /// Time from the arrival at the engine to the first scheduling.
    pub queue_ms: LatencySpread,
    /// Requests served per second.
    pub requests_per_s: Option<Spread>,
    /// Tokens generated per second.
    pub output_tokens_per_s: Option<Spread>,
    /// Requests served within limits per second; null without limits.
    pub goodput_per_s: Option<Spread>,
    /// Seeds at which the server does not keep up with the load.
    pub overloaded: u64,
    /// Seeds at which the required limits are met; null where a report does not have it.
    pub limits_met: Option<u64>,
}
