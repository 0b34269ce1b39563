//! A metric of a row before comparison.

use crate::compare::{Comparison, Metric};
use crate::reason::Reason;
use crate::rows::Latencies;

/// A metric of a row as predicted and as measured.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) metric: Metric,
    /// `None` if the row's lengths do not define the metric.
    pub(crate) predicted: Result<Option<f64>, Reason>,
    pub(crate) measured: Option<f64>,
    /// Ends of the intervals of the prediction.
    pub(crate) intervals: Vec<[f64; 2]>,
}

impl Pair {
    pub(crate) fn new(metric: Metric, predicted: impl Into<Option<f64>>, measured: Option<f64>) -> Pair {
        Pair { metric, predicted: Ok(predicted.into()), measured, intervals: Vec::new() }
    }

    /// Pairs each latency.
    pub(crate) fn latencies(predicted: &Latencies, measured: &Latencies) -> Vec<Pair> {
        vec![
            Pair::new(Metric::Ttft, predicted.ttft_ms, measured.ttft_ms),
            Pair::new(Metric::Tpot, predicted.tpot_ms, measured.tpot_ms),
            Pair::new(Metric::E2e, predicted.e2e_ms, measured.e2e_ms),
        ]
    }

    /// Returns the comparison; `None` if the metric was not measured.
    ///
    /// # Errors
    /// The metric was measured and cannot be predicted, or its measurement cannot be compared.
    pub(crate) fn compare(&self) -> Result<Option<Comparison>, Reason> {
        let metric = self.metric;
        let Some(actual) = self.measured else {
            return Ok(None);
        };
        let predicted = match self.predicted.clone()? {
            Some(predicted) => predicted,
            // Files may report an undefined metric as 0.
            None if actual == 0.0 => return Ok(None),
            None if actual < 0.0 => return Err(Reason::not_positive(metric)),
            None => {
                return Err(Reason::of_row(format!(
                    "a {} was measured that the row gives no lengths for",
                    metric.name()
                )));
            }
        };
        let comparison = Comparison { metric, predicted, actual, intervals: self.intervals.clone() };
        // Dividing by a tiny number overflows.
        if actual > 0.0 && comparison.signed().is_finite() {
            Ok(Some(comparison))
        } else {
            Err(Reason::not_positive(metric))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_measurements_are_not_compared_and_those_of_0_or_less_are_named() {
        let compare = |predicted: Option<f64>, measured| {
            let pair = Pair::new(Metric::Tpot, predicted, measured);
            pair.compare().map(|c| c.is_some()).map_err(|r| r.to_string())
        };
        assert_eq!(compare(Some(1.0), Some(2.0)), Ok(true));
        assert_eq!(compare(Some(1.0), None), Ok(false));
        assert_eq!(compare(None, Some(0.0)), Ok(false));
        for (predicted, measured) in
            [(Some(1.0), 0.0), (Some(1.0), -2.0), (Some(1.0), f64::MIN_POSITIVE / 4.0), (None, -1.0)]
        {
            assert_eq!(compare(predicted, Some(measured)).unwrap_err(), "the measured tpot is 0 or less");
        }
        assert_eq!(compare(None, Some(2.0)).unwrap_err(), "a tpot was measured that the row gives no lengths for");
    }
}
