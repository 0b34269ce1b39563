//! Intervals of figures.

use rooflut::interval::{Coverage, Interval};
use rooflut::sim::figures::{Stats, Summary};
use rooflut::units::Seconds;
use serde::Serialize;

use crate::figures::{LatencyMs, Percentiles};

/// The expected range of a measurement of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Ranges of the mean and the percentiles of a latency, milliseconds; null where a figure is not known.
pub type LatencyRange = Percentiles<Range>;

/// The expected ranges of a measured server's figures under the same load.
///
/// The ranges cover the errors of tables and step model and the differences between equal servers. They do not cover
/// the differences between draws of the load; [`Seeds`](crate::Seeds) shows these.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ModelInterval {
    /// Share of measurements that a range is meant to contain.
    pub coverage: f64,
    /// Time to first token.
    pub ttft_ms: LatencyRange,
    /// Time per output token after the first.
    pub tpot_ms: LatencyRange,
    /// Time from the arrival to the last token.
    pub e2e_ms: LatencyRange,
    /// Requests served per second.
    pub requests_per_s: Range,
    /// Tokens generated per second.
    pub output_tokens_per_s: Range,
}

/// A run, and the same run with each step at the low and at the high end of its interval.
#[derive(Debug, Clone, Copy)]
pub struct Ends<T> {
    /// With the shortest steps.
    pub low: T,
    /// With the predicted steps.
    pub predicted: T,
    /// With the longest steps.
    pub high: T,
}

impl ModelInterval {
    /// Returns the ranges between the figures at both ends. Errors that the errors of the steps do not explain are
    /// added to times to first token and to other times, as half widths in logarithms.
    pub fn between(ends: Ends<&Summary>, coverage: Coverage, half_widths: [f64; 2]) -> ModelInterval {
        let [of_ttft, of_others] = half_widths;
        let latency = |pick: fn(&Summary) -> Option<Stats>, half_width| {
            let figures = ends.map(|summary| LatencyMs::of(pick(summary), summary.completed));
            LatencyRange::between(figures, half_width)
        };
        ModelInterval {
            coverage: coverage.share(),
            ttft_ms: latency(|summary| summary.ttft, of_ttft),
            tpot_ms: latency(|summary| summary.tpot, of_others),
            e2e_ms: latency(|summary| summary.e2e, of_others),
            requests_per_s: Range::of(ends.map(|summary| summary.throughput.requests_per_s)),
            output_tokens_per_s: Range::of(ends.map(|it| it.throughput.output_tokens_per_s)),
        }
    }
}

impl<T> Ends<T> {
    fn map<U>(self, of: impl Fn(T) -> U) -> Ends<U> {
        Ends { low: of(self.low), predicted: of(self.predicted), high: of(self.high) }
    }
}

impl Range {
    /// Returns the range of all three.
    fn of(ends: Ends<f64>) -> Range {
        let Ends { low, predicted, high } = ends;
        Range { low: predicted.min(low).min(high), high: predicted.max(low).max(high) }
    }
}

impl LatencyRange {
    /// Returns the ranges between the figures at both ends, and an independent error of `half_width`, as a logarithm,
    /// in quadrature.
    fn between(ends: Ends<LatencyMs>, half_width: f64) -> LatencyRange {
        let range = |pick: fn(&LatencyMs) -> Option<f64>| {
            let seconds = |ms: f64| Seconds(ms / 1e3);
            let simulated = Interval { low: seconds(pick(&ends.low)?), high: seconds(pick(&ends.high)?) };
            let range = simulated.widened(seconds(pick(&ends.predicted)?), half_width);
            Some(Range { low: range.low.ms(), high: range.high.ms() })
        };
        Percentiles {
            mean: range(|ms| ms.mean),
            p50: range(|ms| ms.p50),
            p90: range(|ms| ms.p90),
            p95: range(|ms| ms.p95),
            p99: range(|ms| ms.p99),
            p99_9: range(|ms| ms.p99_9),
        }
    }
}
