//! Robust statistics, which a single bad row does not move.

/// Returns the median of values in any order; `None` if there are none.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    let is_even = values.len().is_multiple_of(2);
    let middle = values.len() / 2;
    values.get(middle)?;
    let (below, high, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let low = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even).unwrap_or(*high);
    Some(f64::midpoint(low, *high))
}

/// The standard deviation of a normal distribution over its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// Returns the standard deviation around `centre`, estimated from the median absolute deviation.
pub(crate) fn robust_deviation(values: &[f64], centre: f64) -> Option<f64> {
    let apart = values.iter().map(|value| (value - centre).abs());
    median(apart.collect()).map(|middle| middle * NORMAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_value_hardly_moves_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
        assert_eq!(median(vec![1.0, 1e9, 2.0]), Some(2.0));
        let deviation = robust_deviation(&[1.0, 2.0, 3.0, 1e9], 2.0).unwrap();
        assert!((deviation - NORMAL).abs() < 1e-12);
    }
}
