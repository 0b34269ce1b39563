//! Errors of predictions, summarised: one definition for all comparisons with measurements.

use rooflut::op::leave_one_out::LeftOut;
use serde::Serialize;

/// The error of a prediction in percent of what was measured, `100 (predicted / actual - 1)`: above 0
/// where the prediction is too large.
pub fn signed_percent(predicted: f64, actual: f64) -> f64 {
    100.0 * (predicted / actual - 1.0)
}

/// Errors of several predictions, all in percent; `ape` is the absolute error of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Predictions.
    pub n: usize,
    /// The absolute error in the middle; for an even number the mean of the two in the middle.
    pub median_ape: f64,
    /// Mean of the absolute errors.
    pub mean_ape: f64,
    /// The absolute error at rank 0.9 (n - 1) of the ascending ones, counted from 0: linear between
    /// the two ranks beside it.
    pub p90_ape: f64,
    /// The largest absolute error.
    pub max_ape: f64,
    /// Mean of the signed errors: what is left of them in a sum over many predictions.
    pub mean_signed: f64,
}

/// Summarises [signed errors](signed_percent) in any order; `None` where there are none.
///
/// ```
/// use rooflut_validation::summarize;
/// let summary = summarize(&[-4.0, 1.0, 3.0, 2.0]).unwrap();
/// assert_eq!(summary.median_ape, 2.5);
/// assert_eq!(summary.mean_signed, 0.5);
/// ```
pub fn summarize(signed: &[f64]) -> Option<Summary> {
    // Sums run in ascending order, so that the order of the rows does not show.
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

    /// n, then median, mean, p90 and largest absolute error, and the mean of the signed ones.
    fn assert_summary(signed: &[f64], n: usize, figures: [f64; 5]) {
        let summary = summarize(signed).unwrap();
        assert_eq!(summary.n, n);
        let found = [
            summary.median_ape,
            summary.mean_ape,
            summary.p90_ape,
            summary.max_ape,
            summary.mean_signed,
        ];
        let close = |(found, figure): (&f64, &f64)| (found - figure).abs() < 1e-12;
        assert!(found.iter().zip(&figures).all(close), "{summary:?}");
    }

    #[test]
    fn the_error_is_relative_to_what_was_measured() {
        assert!((signed_percent(3.0, 2.0) - 50.0).abs() < 1e-12);
        assert!((signed_percent(1.0, 2.0) + 50.0).abs() < 1e-12);
    }

    #[test]
    fn the_figures_are_those_of_the_definitions() {
        // numpy.percentile([1, 2, 3, 4], 90) and ([1, 3, 5], 90)
        assert_summary(&[-4.0, 1.0, 2.0, -3.0], 4, [2.5, 2.5, 3.7, 4.0, -1.0]);
        assert_summary(&[5.0, -1.0, 3.0], 3, [3.0, 3.0, 4.6, 5.0, 7.0 / 3.0]);
    }

    #[test]
    fn one_error_is_every_figure_and_none_has_none() {
        assert_summary(&[-7.0], 1, [7.0, 7.0, 7.0, 7.0, -7.0]);
        assert_eq!(summarize(&[]), None);
    }

    #[test]
    fn the_order_does_not_show() {
        let mut errors: Vec<f64> = (1..=40).map(|i| 10.0 / f64::from(i) - 0.7).collect();
        let ascending = summarize(&errors);
        errors.reverse();
        errors.swap(3, 17);
        assert_eq!(summarize(&errors), ascending);
    }
}
