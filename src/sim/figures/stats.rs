//! Mean and percentiles.

use crate::units::Seconds;

/// Mean and percentiles over requests, or over the gaps between tokens.
///
/// A percentile between two values is interpolated linearly, as numpy does by default.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stats {
    /// Arithmetic mean.
    pub mean: Seconds,
    /// Median.
    pub p50: Seconds,
    /// 90th percentile.
    pub p90: Seconds,
    /// 95th percentile.
    pub p95: Seconds,
    /// 99th percentile.
    pub p99: Seconds,
    /// 99.9th percentile.
    #[cfg_attr(feature = "serde", serde(default))]
    pub p99_9: Seconds,
}

impl Stats {
    /// Computes the statistics of `values`, which it sorts; `None` if there are none.
    ///
    /// The mean is summed in ascending order, so that it does not depend on the order of the values.
    pub(crate) fn of(values: &mut [Seconds]) -> Option<Stats> {
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let sum: Seconds = values.iter().copied().sum();
        let mean = Seconds(sum.0 / values.len() as f64);
        let index = |index| values.get(usize::try_from(index).ok()?).copied();
        Stats::ranked(mean, values.len() as u64, index)
    }

    /// Computes the percentiles of `count` values; `at` returns the value at an index in ascending order.
    pub(crate) fn ranked(mean: Seconds, count: u64, at: impl Fn(u64) -> Option<Seconds>) -> Option<Stats> {
        let percentile = |per_mille| percentile(per_mille, count, &at);
        Some(Stats {
            mean,
            p50: percentile(500)?,
            p90: percentile(900)?,
            p95: percentile(950)?,
            p99: percentile(990)?,
            p99_9: percentile(999)?,
        })
    }
}

/// Returns a percentile, in thousandths, of `count` values; `at` returns the value at an index in ascending order.
pub(crate) fn percentile(per_mille: u32, count: u64, at: impl Fn(u64) -> Option<Seconds>) -> Option<Seconds> {
    let rank = u128::from(count.checked_sub(1)?) * u128::from(per_mille); // in thousandths
    let low = at((rank / 1_000) as u64)?;
    let high = at(rank.div_ceil(1_000) as u64)?;
    let share = (rank % 1_000) as f64 / 1_000.0;
    Some(Seconds(low.0 + (high.0 - low.0) * share))
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn seconds(values: &[f64]) -> Vec<Seconds> {
        values.iter().copied().map(Seconds).collect()
    }

    #[test]
    fn percentiles_interpolate_as_numpy_does() {
        let stats = Stats::of(&mut seconds(&[4.0, 1.0, 3.0, 2.0])).unwrap();
        // numpy.percentile([1, 2, 3, 4], [50, 90, 95, 99, 99.9])
        assert_eq!(stats.p50, Seconds(2.5));
        assert!((stats.p90.0 - 3.7).abs() < 1e-12);
        assert!((stats.p95.0 - 3.85).abs() < 1e-12);
        assert!((stats.p99.0 - 3.97).abs() < 1e-12);
        assert!((stats.p99_9.0 - 3.997).abs() < 1e-12);
        assert_eq!(stats.mean, Seconds(2.5));
    }

    #[test]
    fn one_value_is_every_percentile_and_none_has_none() {
        let stats = Stats::of(&mut seconds(&[0.25])).unwrap();
        assert_eq!([stats.mean, stats.p50, stats.p90, stats.p95, stats.p99, stats.p99_9], [Seconds(0.25); 6]);
        assert_eq!(Stats::of(&mut []), None);
    }
}
