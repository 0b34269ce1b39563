//! Times of requests: exact for as many as fit, from a histogram beyond.

use alloc::vec::Vec;

use crate::sim::figures::Stats;
use crate::sim::figures::sketch::Sketch;
use crate::sim::figures::stats::percentile;
use crate::units::Seconds;

/// Times of requests, each kept up to a number of them, and counted in a histogram beyond.
#[derive(Debug, Clone)]
pub(crate) enum Times {
    Kept(Vec<Seconds>),
    Counted(Sketch<u32>),
}

impl Times {
    /// Creates an empty list; with `is_exact`, the first times are kept.
    pub(crate) fn new(is_exact: bool) -> Times {
        if is_exact { Times::Kept(Vec::new()) } else { Times::Counted(Sketch::new()) }
    }

    /// Adds a time, and moves to a histogram where `max` times are kept already.
    pub(crate) fn add(&mut self, time: Seconds, max: usize) {
        match self {
            Times::Counted(sketch) => sketch.add(time),
            Times::Kept(times) if times.len() < max => times.push(time),
            Times::Kept(times) => {
                let mut sketch = Sketch::new();
                times.drain(..).for_each(|time| sketch.add(time));
                sketch.add(time);
                *self = Times::Counted(sketch);
            }
        }
    }

    /// Maximum relative error of a percentile.
    pub(crate) fn error(&self) -> f64 {
        match self {
            Times::Kept(_) => 0.0,
            Times::Counted(_) => Sketch::<u32>::RELATIVE_ERROR,
        }
    }

    /// Returns the quantiles at these levels, in thousandths up to 1,000; `None` if there are no times.
    pub(crate) fn quantiles(&self, per_mille: &[u32]) -> Option<Vec<Seconds>> {
        match self {
            Times::Counted(sketch) => sketch.quantiles(per_mille),
            Times::Kept(times) => {
                let mut times = times.clone();
                times.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                let at = |index| times.get(usize::try_from(index).ok()?).copied();
                per_mille.iter().map(|&level| percentile(level, times.len() as u64, at)).collect()
            }
        }
    }

    /// Returns mean and percentiles; `None` if there are no times.
    pub(crate) fn into_stats(self) -> Option<Stats> {
        match self {
            Times::Kept(mut times) => Stats::of(&mut times),
            Times::Counted(sketch) => sketch.stats(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_up_to_a_number_and_within_the_error_beyond() {
        let times = |count: u32| {
            let mut times = Times::new(true);
            (1..=count).for_each(|i| times.add(Seconds(f64::from(i) * 1e-7), 1_000));
            times
        };
        assert!(times(1_000).error() <= 0.0);
        let exact = times(1_000).into_stats().unwrap();
        assert_eq!(exact.p50, Seconds(500.5 * 1e-7));
        let counted = times(2_000);
        let error = counted.error();
        assert!(error > 0.0);
        let p99 = counted.into_stats().unwrap().p99.0 / 1_980.01e-7;
        assert!((p99 - 1.0).abs() <= error, "{p99}");
        assert_eq!(Times::new(true).into_stats(), None);
    }

    #[test]
    fn quantiles_are_the_percentiles_and_reach_from_the_least_to_the_longest_time() {
        for max in [1_000, 100] {
            let mut times = Times::new(true);
            // In no order.
            (0..777).for_each(|i| times.add(Seconds(f64::from(i * 500 % 777 + 1) * 1e-3), max));
            let quantiles = times.quantiles(&[0, 500, 999, 1_000]).unwrap();
            let error = times.error();
            let stats = times.into_stats().unwrap();
            assert_eq!(quantiles[1..3], [stats.p50, stats.p99_9]);
            for (found, expected) in [(quantiles[0], 1e-3), (quantiles[3], 0.777)] {
                assert!((found.0 / expected - 1.0).abs() <= error + 1e-12, "{found:?} {expected}");
            }
        }
        assert_eq!(Times::new(true).quantiles(&[500]), None);
    }
}
