//! Statistics of errors.

/// Errors of several predictions of one metric, in percent.
///
/// APE is the absolute percentage error, 100 |predicted - actual| / actual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Predictions.
    pub n: usize,
    /// Median of the APE: the mean of the two middle ones where `n` is even.
    pub median_ape: f64,
    /// Mean of the APE.
    pub mean_ape: f64,
    /// 90th percentile of the APE, interpolated linearly between order statistics.
    pub p90_ape: f64,
    /// Largest APE.
    pub max_ape: f64,
    /// Mean of the signed errors: above 0 where predictions are too long.
    pub mean_signed: f64,
}

/// The statistics of signed percentage errors, in any order; none where there are none.
///
/// ```
/// use rooflut_validation::summarize;
/// let summary = summarize(&[-4.0, 1.0, 3.0, 2.0]).unwrap();
/// assert_eq!(summary.median_ape, 2.5);
/// assert_eq!(summary.mean_signed, 0.5);
/// assert!((summary.p90_ape - 3.7).abs() < 1e-12);
/// ```
pub fn summarize(signed: &[f64]) -> Option<Summary> {
    // Sums run in ascending order, so that the order of the rows does not show.
    let mut signed = signed.to_vec();
    signed.sort_unstable_by(f64::total_cmp);
    let mut ape: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    ape.sort_unstable_by(f64::total_cmp);
    let n = ape.len();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n as f64;
    Some(Summary {
        n,
        median_ape: percentile(&ape, 50)?,
        mean_ape: mean(&ape),
        p90_ape: percentile(&ape, 90)?,
        max_ape: *ape.last()?,
        mean_signed: mean(&signed),
    })
}

/// The value below which `percent` of the ascending values lie, as numpy interpolates it.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = sorted.len().checked_sub(1)? * percent; // in hundredths
    let low = sorted.get(rank / 100)?;
    let high = sorted.get(rank.div_ceil(100))?;
    let share = (rank % 100) as f64 / 100.0;
    Some(low + (high - low) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_number_has_its_middle_one_as_median() {
        let summary = summarize(&[10.0, -30.0, 20.0]).unwrap();
        let expected = Summary {
            n: 3,
            median_ape: 20.0,
            mean_ape: 20.0,
            p90_ape: 28.0,
            max_ape: 30.0,
            mean_signed: 0.0,
        };
        assert_eq!(summary, expected);
    }

    #[test]
    fn one_error_is_all_of_them_and_none_has_none() {
        let expected = Summary {
            n: 1,
            median_ape: 7.0,
            mean_ape: 7.0,
            p90_ape: 7.0,
            max_ape: 7.0,
            mean_signed: -7.0,
        };
        assert_eq!(summarize(&[-7.0]), Some(expected));
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
