//! Summary statistics of prediction errors, defined once for all comparisons with measurements.

use rooflut_predecessors::leave_one_out::LeftOut;
use serde::Serialize;

/// Returns the error of a prediction in percent of the measurement, `100 (predicted / actual - 1)`:
/// positive if the prediction is too large.
pub fn signed_percent(predicted: f64, actual: f64) -> f64 {
    100.0 * (predicted / actual - 1.0)
}

/// Summary statistics of prediction errors, in percent; `ape` is the absolute percentage error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Number of predictions.
    pub n: usize,
    /// Median absolute error; for an even number the mean of the two in the middle.
    pub median_ape: f64,
    /// Mean of the absolute errors.
    pub mean_ape: f64,
    /// 90th percentile of the absolute errors: rank 0.9 (n - 1) in ascending order, counted from 0, linear
    /// between neighbouring ranks.
    pub p90_ape: f64,
    /// The largest absolute error.
    pub max_ape: f64,
    /// Mean of the signed errors: the error that remains in a sum over many predictions.
    pub mean_signed: f64,
}

/// Summarises [signed errors](signed_percent), in any order; `None` if there are none.
///
/// ```
/// use rooflut_validation::summarize;
/// let summary = summarize(&[-4.0, 1.0, 3.0, 2.0]).unwrap();
/// assert_eq!(summary.median_ape, 2.5);
/// assert_eq!(summary.mean_signed, 0.5);
/// ```
pub fn summarize(signed: &[f64]) -> Option<Summary> {
    // Summed in ascending order, so that the result does not depend on the order of the rows.
    let mut signed = signed.to_vec();
    signed.sort_unstable_by(f64::total_cmp);
    let mut apes: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    apes.sort_unstable_by(f64::total_cmp);
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    Some(Summary {
        n: apes.len(),
        median_ape: LeftOut::quantile(&apes, 0.5)?,
        mean_ape: mean(&apes),
        p90_ape: LeftOut::quantile(&apes, 0.9)?,
        max_ape: LeftOut::quantile(&apes, 1.0)?,
        mean_signed: mean(&signed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `figures`: median, mean, p90 and largest absolute error, and the mean signed error.
    fn assert_summary(signed: &[f64], n: usize, figures: [f64; 5]) {
        let summary = summarize(signed).unwrap();
        assert_eq!(summary.n, n);
        let found = [summary.median_ape, summary.mean_ape, summary.p90_ape, summary.max_ape, summary.mean_signed];
        let close = |(found, figure): (&f64, &f64)| (found - figure).abs() < 1e-12;
        assert!(found.iter().zip(&figures).all(close), "{summary:?}");
    }

    #[test]
    fn the_error_is_relative_to_the_measurement() {
        assert!((signed_percent(3.0, 2.0) - 50.0).abs() < 1e-12);
        assert!((signed_percent(1.0, 2.0) + 50.0).abs() < 1e-12);
    }

    #[test]
    fn statistics_follow_their_definitions() {
        // numpy.percentile([1, 2, 3, 4], 90) and ([1, 3, 5], 90)
        assert_summary(&[-4.0, 1.0, 2.0, -3.0], 4, [2.5, 2.5, 3.7, 4.0, -1.0]);
        assert_summary(&[5.0, -1.0, 3.0], 3, [3.0, 3.0, 4.6, 5.0, 7.0 / 3.0]);
    }

    #[test]
    fn a_single_error_is_every_statistic_and_no_errors_have_none() {
        assert_summary(&[-7.0], 1, [7.0, 7.0, 7.0, 7.0, -7.0]);
        assert_eq!(summarize(&[]), None);
    }

    #[test]
    fn the_order_of_errors_does_not_matter() {
        let mut errors: Vec<f64> = (1..=40).map(|i| 10.0 / f64::from(i) - 0.7).collect();
        let ascending = summarize(&errors);
        errors.reverse();
        errors.swap(3, 17);
        assert_eq!(summarize(&errors), ascending);
    }
}
