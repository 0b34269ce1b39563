//! Percentiles of times, from a histogram.

use alloc::vec;
use alloc::vec::Vec;

use crate::sim::figures::Stats;
use crate::units::Seconds;

/// Number of buckets for each doubling of the time; the first 2,048 ns have a bucket each.
const BUCKETS: usize = 1_024;
/// Number of doublings that an empty histogram covers: times up to 4.3 s. It grows for longer ones.
const INITIAL_DOUBLINGS: usize = 23;

/// A histogram of whole nanoseconds, and their exact sum. All arithmetic is on integers, so that the result is the
/// same on every platform. `C` counts the times of a bucket: `u32` or `u64`.
///
/// Memory: 1,024 counters per doubling up to 4 s, as many again for longer times.
#[derive(Debug, Clone)]
pub(crate) struct Sketch<C> {
    counts: Vec<C>,
    sum_ns: u128,
    count: u64,
}

impl<C: Copy + Default + Into<u64> + TryFrom<u64>> Sketch<C> {
    /// Maximum relative error: half a bucket over the value.
    pub(crate) const RELATIVE_ERROR: f64 = 1.0 / 2_048.0;

    /// Creates an empty histogram.
    pub(crate) fn new() -> Sketch<C> {
        Sketch {
            counts: vec![C::default(); INITIAL_DOUBLINGS * BUCKETS],
            sum_ns: 0,
            count: 0,
        }
    }

    /// Adds `count` times in the bucket of `time_ns`, given their sum.
    #[inline]
    pub(crate) fn add_bucket(&mut self, time_ns: u64, count: u64, sum_ns: u128) {
        let place = place(time_ns);
        if place >= self.counts.len() {
            let doublings = place / BUCKETS + 1;
            self.counts.resize(doublings * BUCKETS, C::default());
        }
        if let Some(counted) = self.counts.get_mut(place) {
            let sum = (*counted).into().saturating_add(count);
            *counted = C::try_from(sum).unwrap_or(*counted);
        }
        self.sum_ns += sum_ns;
        self.count += count;
    }

    /// Returns the first value and the width of the bucket of `time_ns`, in nanoseconds.
    pub(crate) fn bucket(&self, time_ns: u64) -> (u64, u64) {
        bucket(place(time_ns))
    }

    /// Adds a time.
    pub(crate) fn add(&mut self, time: Seconds) {
        let time_ns = time.to_nanos();
        self.add_bucket(time_ns, 1, time_ns.into());
    }

    /// Returns the number of times added.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns mean and percentiles; `None` if the histogram is empty.
    pub(crate) fn stats(&self) -> Option<Stats> {
        let mean = Seconds(self.sum_ns as f64 / self.count as f64 / 1e9);
        Stats::ranked(mean, self.count, |index| self.at(index))
    }

    /// Returns the middle of the bucket of the time at `index` in ascending order.
    fn at(&self, index: u64) -> Option<Seconds> {
        let (mut before, mut first_place) = (0, 0);
        for counts in self.counts.chunks(BUCKETS) {
            let inside: u64 = counts.iter().map(|count| (*count).into()).sum();
            if index < before + inside {
                let reaches = counts.iter().position(|count| {
                    before += (*count).into();
                    index < before
                });
                let (first_ns, width_ns) = bucket(first_place + reaches?);
                let last_ns = first_ns + (width_ns - 1);
                return Some(Seconds((first_ns as f64 + last_ns as f64) / 2e9));
            }
            before += inside;
            first_place += counts.len();
        }
        None
    }
}

/// Returns the place of the bucket of `time_ns`.
#[inline]
fn place(time_ns: u64) -> usize {
    let doublings = (time_ns | (2 * BUCKETS as u64 - 1)).ilog2() - BUCKETS.ilog2();
    doublings as usize * BUCKETS + (time_ns >> doublings) as usize
}

/// Returns the first value and the width of the bucket at `place`, in nanoseconds.
fn bucket(place: usize) -> (u64, u64) {
    let doublings = (place / BUCKETS).saturating_sub(1);
    (
        ((place - doublings * BUCKETS) as u64) << doublings,
        1 << doublings,
    )
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::sim::load::random::{Purpose, Random};

    fn sketch_of(times_ns: &[u64]) -> Sketch<u32> {
        let mut sketch = Sketch::new();
        for &time_ns in times_ns {
            sketch.add_bucket(time_ns, 1, time_ns.into());
        }
        sketch
    }

    #[test]
    fn every_value_is_within_the_error_from_a_nanosecond_to_centuries() {
        let mut time_ns = 1_u64;
        while time_ns < u64::MAX / 2 {
            for value in [time_ns - 1, time_ns, time_ns + time_ns / 3] {
                let found = sketch_of(&[value]).stats().unwrap().p50.0 * 1e9;
                let error = (found - value as f64).abs();
                let bound = Sketch::<u32>::RELATIVE_ERROR * value as f64;
                assert!(error <= bound * (1.0 + 1e-9), "{value} {found}");
            }
            time_ns = time_ns * 2 + 1;
        }
    }

    #[test]
    fn percentiles_are_within_the_error_of_the_exact_ones() {
        let mut random = Random::new(3, Purpose::Outputs);
        for count in [1, 2, 3, 10, 101, 20_000] {
            let draw = |_| (random.exponential() * 5e8) as u64;
            let times_ns: Vec<u64> = (0..count).map(draw).collect();
            let sketched = sketch_of(&times_ns).stats().unwrap();
            let seconds = times_ns.iter().map(|&ns| Seconds(ns as f64 / 1e9));
            let exact = Stats::of(&mut seconds.collect::<Vec<_>>()).unwrap();
            for (a, b) in [
                (sketched.p50, exact.p50),
                (sketched.p90, exact.p90),
                (sketched.p95, exact.p95),
                (sketched.p99, exact.p99),
            ] {
                assert!((a.0 / b.0 - 1.0).abs() <= Sketch::<u32>::RELATIVE_ERROR);
            }
            assert!((sketched.mean.0 / exact.mean.0 - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn values_of_one_bucket_are_counted_together() {
        for time_ns in [0, 1, 2_047, 2_048, 5_000_003, 9_999_999_999, u64::MAX / 3] {
            let mut sketch = Sketch::<u64>::new();
            let (first_ns, width_ns) = sketch.bucket(time_ns);
            assert!((first_ns..first_ns + width_ns).contains(&time_ns));
            sketch.add_bucket(first_ns, 2, 2 * u128::from(time_ns));
            assert_eq!(sketch.stats(), sketch_of(&[time_ns, time_ns]).stats());
            assert_ne!(sketch.bucket(first_ns + width_ns).0, first_ns);
        }
    }

    #[test]
    fn a_count_adds_the_same_value_repeatedly() {
        let mut weighted = Sketch::<u64>::new();
        weighted.add_bucket(5_000_000, 3, 15_000_000);
        weighted.add_bucket(7_000_000, 1, 7_000_000);
        let single = sketch_of(&[5_000_000, 5_000_000, 7_000_000, 5_000_000]);
        assert_eq!((weighted.count(), single.count()), (4, 4));
        let (weighted, single) = (weighted.stats().unwrap(), single.stats().unwrap());
        assert_eq!(weighted.p95, single.p95);
        assert!((weighted.mean.0 - single.mean.0).abs() < 1e-12);
        assert_eq!(Sketch::<u64>::new().stats(), None);
    }
}
