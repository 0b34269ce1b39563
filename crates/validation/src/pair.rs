//! A metric of a row before comparison.

use crate::compare::{Comparison, Metric};
use crate::predict::Reason;

/// A metric of a row as predicted and as measured.
pub(crate) struct Pair {
    pub(crate) metric: Metric,
    /// `None` if the row's lengths do not define the metric.
    pub(crate) predicted: Result<Option<f64>, Reason>,
    pub(crate) measured: Option<f64>,
}

impl Pair {
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
            None if actual < 0.0 => return Err(Reason::NotPositive(metric)),
            None => return Err(Reason::NoLengths(metric)),
        };
        let comparison = Comparison {
            metric,
            predicted,
            actual,
        };
        // Dividing by a tiny number overflows.
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
    fn missing_measurements_are_not_compared_and_those_of_0_or_less_are_named() {
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
