//! Times of requests: exact for as many as fit, from a histogram beyond.

use alloc::vec::Vec;

use crate::sim::figures::Stats;
use crate::sim::figures::sketch::Sketch;
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
}
