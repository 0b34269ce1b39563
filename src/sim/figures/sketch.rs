//! Percentiles of times, from a histogram.

use alloc::vec::Vec;

use hdrhistogram::{Counter, Histogram};

use crate::sim::figures::Stats;
use crate::sim::figures::stats::percentile;
use crate::units::Seconds;

/// Significant digits of the histogram: 2,048 buckets for the first 2,048 ns, then 1,024 for each doubling.
const DIGITS: u8 = 3;
/// Initial range of the histogram, which grows for longer times.
const INITIAL_RANGE_NS: u64 = 1 << 32;

/// A histogram of whole nanoseconds, and their exact sum. All arithmetic is on integers, so that the result is the
/// same on every platform.
///
/// Memory: 1,024 counters per doubling up to 4 s, as many again for longer times.
#[derive(Debug, Clone)]
pub(crate) struct Sketch<C: Counter> {
    /// Present with the first time: many a sketch gets none, and this is most of what a short run allocates.
    histogram: Option<Histogram<C>>,
    sum_ns: u128,
    count: u64,
}

impl<C: Counter> Sketch<C> {
    /// Maximum relative error: half a bucket over the value.
    pub(crate) const RELATIVE_ERROR: f64 = 1.0 / 2_048.0;

    /// Creates an empty histogram.
    pub(crate) fn new() -> Sketch<C> {
        Sketch { histogram: None, sum_ns: 0, count: 0 }
    }

    /// The histogram. It is always there: `hdrhistogram` accepts these digits and this range.
    #[inline]
    fn histogram(&mut self) -> Option<&mut Histogram<C>> {
        if self.histogram.is_none() {
            self.histogram = Histogram::new_with_max(INITIAL_RANGE_NS, DIGITS).ok();
            self.histogram.iter_mut().for_each(|histogram| histogram.auto(true));
        }
        self.histogram.as_mut()
    }

    /// Adds `time_ns` `count` times.
    #[inline]
    pub(crate) fn add_ns(&mut self, time_ns: u64, count: C) {
        let sum_ns = u128::from(time_ns) * u128::from(count.as_u64());
        self.add_bucket(time_ns, count, sum_ns);
    }

    /// Adds `count` times in the bucket of `time_ns`, given their sum.
    #[inline]
    pub(crate) fn add_bucket(&mut self, time_ns: u64, count: C, sum_ns: u128) {
        if let Some(histogram) = self.histogram() {
            // Fails only where usize is too small for the grown histogram.
            let _ = histogram.record_n(time_ns, count);
        }
        self.sum_ns += sum_ns;
        self.count += count.as_u64();
    }

    /// Returns the first value and the width of the bucket of `time_ns`, in nanoseconds.
    pub(crate) fn bucket(&mut self, time_ns: u64) -> (u64, u64) {
        let bucket = |histogram: &mut Histogram<C>| {
            let first_ns = histogram.lowest_equivalent(time_ns);
            (first_ns, histogram.equivalent_range(time_ns))
        };
        self.histogram().map_or((time_ns, 1), bucket)
    }

    /// Adds a time.
    pub(crate) fn add(&mut self, time: Seconds) {
        self.add_ns(time.to_nanos(), C::one());
    }

    /// Returns the number of times added.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns mean and percentiles; `None` if the histogram is empty.
    pub(crate) fn stats(&self) -> Option<Stats> {
        let histogram = self.histogram.as_ref()?;
        let mean = Seconds(self.sum_ns as f64 / self.count as f64 / 1e9);
        Stats::ranked(mean, self.count, |index| at(histogram, index))
    }

    /// Returns the quantiles at these levels, in thousandths up to 1,000; `None` if the histogram is empty.
    pub(crate) fn quantiles(&self, per_mille: &[u32]) -> Option<Vec<Seconds>> {
        let histogram = self.histogram.as_ref()?;
        per_mille.iter().map(|&level| percentile(level, self.count, |index| at(histogram, index))).collect()
    }
}

/// Returns the middle of the bucket of the value at `index` in ascending order; `None` beyond the last one.
fn at<C: Counter>(histogram: &Histogram<C>, index: u64) -> Option<Seconds> {
    if index >= histogram.len() {
        return None;
    }
    // The scan by quantile is vectorized. Half a value tells neighbours apart up to 2^51 of them.
    let last_ns = histogram.value_at_quantile((index as f64 + 0.5) / histogram.len() as f64);
    let first_ns = histogram.lowest_equivalent(last_ns);
    Some(Seconds((first_ns as f64 + last_ns as f64) / 2e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::load::random::{Purpose, Random};

    fn sketch_of(times_ns: &[u64]) -> Sketch<u32> {
        let mut sketch = Sketch::new();
        for &time_ns in times_ns {
            sketch.add_ns(time_ns, 1);
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
                (sketched.p99_9, exact.p99_9),
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
        weighted.add_ns(5_000_000, 3);
        weighted.add_ns(7_000_000, 1);
        let single = sketch_of(&[5_000_000, 5_000_000, 7_000_000, 5_000_000]);
        assert_eq!((weighted.count(), single.count()), (4, 4));
        let (weighted, single) = (weighted.stats().unwrap(), single.stats().unwrap());
        assert_eq!(weighted.p95, single.p95);
        assert!((weighted.mean.0 - single.mean.0).abs() < 1e-12);
        assert_eq!(Sketch::<u64>::new().stats(), None);
    }
}
