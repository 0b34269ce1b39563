//! A prediction beside its measurement.

use crate::predict::Reason;
use crate::summary::signed_percent;

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Time to the first token, ms.
    Ttft,
    /// Time per output token after the first, ms.
    Tpot,
    /// Time to the last token, ms.
    E2e,
    /// Time of the prompt of a request that runs alone, ms.
    Prefill,
    /// Duration of an engine step, ms.
    Step,
    /// KV blocks of 16 tokens.
    KvBlocks,
}

impl Metric {
    /// The name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Ttft => "ttft",
            Metric::Tpot => "tpot",
            Metric::E2e => "e2e",
            Metric::Prefill => "prefill",
            Metric::Step => "step",
            Metric::KvBlocks => "kv_blocks",
        }
    }
}

/// A prediction beside its measurement, which is positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What is predicted.
    pub metric: Metric,
    /// The prediction, in the unit of the metric.
    pub predicted: f64,
    /// The measurement.
    pub actual: f64,
}

impl Comparison {
    /// The error in percent of the measurement: above 0 where the prediction is too large.
    pub fn signed(&self) -> f64 {
        signed_percent(self.predicted, self.actual)
    }

    /// The absolute percentage error.
    pub fn ape(&self) -> f64 {
        self.signed().abs()
    }
}

/// A metric of a row, predicted and measured, as far as there is one.
pub(crate) struct Pair {
    pub(crate) metric: Metric,
    /// `None` where there is no such thing by the row's lengths.
    pub(crate) predicted: Result<Option<f64>, Reason>,
    pub(crate) measured: Option<f64>,
}

impl Pair {
    /// The comparison, none where nothing was measured.
    ///
    /// # Errors
    /// It was measured and cannot be predicted, or cannot be compared with.
    pub(crate) fn compare(&self) -> Result<Option<Comparison>, Reason> {
        let metric = self.metric;
        let Some(actual) = self.measured else {
            return Ok(None);
        };
        let predicted = match self.predicted.clone()? {
            Some(predicted) => predicted,
            // A metric that cannot exist may be told as 0.
            None if actual == 0.0 => return Ok(None),
            None if actual < 0.0 => return Err(Reason::NotPositive(metric)),
            None => return Err(Reason::NoLengths(metric)),
        };
        let comparison = Comparison {
            metric,
            predicted,
            actual,
        };
        // Dividing by next to nothing overflows.
        match actual > 0.0 && comparison.signed().is_finite() {
            true => Ok(Some(comparison)),
            false => Err(Reason::NotPositive(metric)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_in_percent_of_the_measurement() {
        let comparison = Comparison {
            metric: Metric::Step,
            predicted: 9.0,
            actual: 12.0,
        };
        assert_eq!(comparison.signed().to_bits(), (-25.0_f64).to_bits());
        assert_eq!(comparison.ape().to_bits(), 25.0_f64.to_bits());
    }

    #[test]
    fn what_was_not_measured_is_not_compared_and_zero_and_less_are_named() {
        let compare = |predicted, measured| {
            let pair = Pair {
                metric: Metric::Tpot,
                predicted: Ok(predicted),
                measured,
            };
            pair.compare()
                .map(|c| c.is_some())
                .map_err(|r| r.to_string())
        };
        assert_eq!(compare(Some(1.0), Some(2.0)), Ok(true));
        assert_eq!(compare(Some(1.0), None), Ok(false));
        assert_eq!(compare(None, Some(0.0)), Ok(false));
        for (predicted, measured) in [
            (Some(1.0), 0.0),
            (Some(1.0), -2.0),
            (Some(1.0), f64::MIN_POSITIVE / 4.0),
            (None, -1.0),
        ] {
            assert_eq!(
                compare(predicted, Some(measured)).unwrap_err(),
                "the measured tpot is 0 or less"
            );
        }
        assert_eq!(
            compare(None, Some(2.0)).unwrap_err(),
            "a tpot was measured that the row gives no lengths for"
        );
    }
}
