//! Comparison of a prediction with its measurement.

use crate::summary::signed_percent;

/// A predicted and measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Time to the first token, ms.
    Ttft,
    /// Time to the first token without cold starts, ms: of a stage with one, the median.
    WarmTtft,
    /// Time per output token after the first, ms.
    Tpot,
    /// Time to the last token, ms.
    E2e,
    /// Prefill time of a request that runs alone, or duration of an engine step with prompt tokens, ms.
    Prefill,
    /// Duration of an engine step in which all requests decode, ms.
    Step,
    /// KV blocks of 16 tokens.
    KvBlocks,
    /// Weights on a GPU, GiB.
    Weights,
    /// Peak of the activations on a GPU, GiB.
    Activations,
    /// Other memory on a GPU, without weights, activations and KV cache, GiB.
    NonTorch,
    /// KV cache on a GPU, GiB.
    KvMemory,
}

impl Metric {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Ttft => "ttft",
            Metric::WarmTtft => "warm_ttft",
            Metric::Tpot => "tpot",
            Metric::E2e => "e2e",
            Metric::Prefill => "prefill",
            Metric::Step => "step",
            Metric::KvBlocks => "kv_blocks",
            Metric::Weights => "weights",
            Metric::Activations => "activations",
            Metric::NonTorch => "non_torch",
            Metric::KvMemory => "kv_memory",
        }
    }
}

/// A prediction and its measurement. The measurement is positive.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The compared metric.
    pub metric: Metric,
    /// The prediction, in the unit of the metric.
    pub predicted: f64,
    /// The measurement.
    pub actual: f64,
    /// Ends of the interval of the prediction for each of [`Predictor::coverages`](crate::Predictor::coverages); empty
    /// for metrics without intervals.
    pub intervals: Vec<[f64; 2]>,
}

impl Comparison {
    /// Returns the error in percent of the measurement: positive if the prediction is too large.
    pub fn signed(&self) -> f64 {
        signed_percent(self.predicted, self.actual)
    }

    /// Returns whether each of the intervals contains the measurement.
    pub fn are_covered(&self) -> impl Iterator<Item = bool> {
        let intervals = self.intervals.iter();
        intervals.map(|[low, high]| (low..=high).contains(&&self.actual))
    }

    /// Returns the comparison with another prediction and its intervals, exp(`ln_ratio`) times as long.
    pub(crate) fn moved(self, ln_ratio: f64) -> Comparison {
        let ratio = ln_ratio.exp();
        Comparison {
            predicted: self.predicted * ratio,
            intervals: self.intervals.into_iter().map(|ends| ends.map(|end| end * ratio)).collect(),
            ..self
        }
    }

    /// Returns the absolute percentage error.
    pub fn ape(&self) -> f64 {
        self.signed().abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_in_percent_of_the_measurement() {
        let comparison = Comparison { metric: Metric::Step, predicted: 9.0, actual: 12.0, intervals: Vec::new() };
        assert_eq!(comparison.signed().to_bits(), (-25.0_f64).to_bits());
        assert_eq!(comparison.ape().to_bits(), 25.0_f64.to_bits());
    }
}
