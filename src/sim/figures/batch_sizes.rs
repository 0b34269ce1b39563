//! Batch sizes: the number of requests per step.

use alloc::vec::Vec;

use crate::sim::{Observer, StepRecord};

/// An observer that measures for how long batches of each size ran.
///
/// The size of a batch is the number of requests in the step: prompt chunks and decoding requests. Sizes are weighted
/// by the duration of their steps, so a percentile describes the batch at a random busy moment.
///
/// Cost: one addition per step. Memory: 8 bytes per size up to the largest. `Digest` has an example of an observer.
#[derive(Debug, Clone, Default)]
pub struct BatchSizes {
    /// Nanoseconds by size.
    busy_ns: Vec<u64>,
}

/// Mean and percentiles of the batch sizes, over the time during which steps ran.
///
/// A percentile is the smallest size such that batches of at most this size ran for that share of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchStats {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: u32,
    /// 90th percentile.
    pub p90: u32,
    /// 95th percentile.
    pub p95: u32,
    /// 99th percentile.
    pub p99: u32,
}

impl BatchSizes {
    /// Creates an observer that has seen no step.
    pub fn new() -> BatchSizes {
        BatchSizes::default()
    }

    /// Returns mean and percentiles; `None` if there was no step.
    pub fn stats(&self) -> Option<BatchStats> {
        let sizes = || (0_u32..).zip(self.busy_ns.iter().map(|ns| u128::from(*ns)));
        let busy_ns: u128 = sizes().map(|(_, ns)| ns).sum();
        let weighed: u128 = sizes().map(|(size, ns)| u128::from(size) * ns).sum();
        let percentile = |percent: u128| {
            let mut passed_ns = 0;
            let within = sizes().find(|(_, ns)| {
                passed_ns += ns;
                passed_ns * 100 >= busy_ns * percent
            });
            within.map(|(size, _)| size)
        };
        (busy_ns > 0).then_some(())?;
        Some(BatchStats {
            mean: weighed as f64 / busy_ns as f64,
            p50: percentile(50)?,
            p90: percentile(90)?,
            p95: percentile(95)?,
            p99: percentile(99)?,
        })
    }

    #[cold]
    fn make_room(&mut self, size: usize) {
        self.busy_ns.resize(size + 1, 0);
    }
}

impl Observer for BatchSizes {
    fn wants_steps(&self) -> bool {
        true
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        let size = step.prefill_chunks.saturating_add(step.decode_requests) as usize;
        if size >= self.busy_ns.len() {
            self.make_room(size);
        }
        if let Some(busy_ns) = self.busy_ns.get_mut(size) {
            *busy_ns = busy_ns.saturating_add(step.duration_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(steps: &[(u32, u32, u64)]) -> BatchSizes {
        let mut sizes = BatchSizes::new();
        for &(prefill_chunks, decode_requests, duration_ns) in steps {
            sizes.step(&StepRecord { prefill_chunks, decode_requests, duration_ns, ..StepRecord::default() });
        }
        sizes
    }

    #[test]
    fn a_size_counts_for_as_long_as_its_steps_run() {
        // 50 ns with 4 requests, 40 with 1, 9 with 7, 1 with 100, in any order.
        let stats = sizes(&[(1, 6, 9), (0, 4, 20), (1, 0, 40), (2, 2, 30), (0, 100, 1)]).stats().unwrap();
        assert!((stats.mean - (4.0 * 50.0 + 40.0 + 7.0 * 9.0 + 100.0) / 100.0).abs() < 1e-12);
        assert_eq!([stats.p50, stats.p90, stats.p95, stats.p99], [4, 4, 7, 7]);
        let stats = sizes(&[(0, 3, 2), (0, 5, 2)]).stats().unwrap();
        assert_eq!([stats.p50, stats.p90], [3, 5]);
    }

    #[test]
    fn no_step_has_no_sizes_and_the_longest_run_does_not_overflow() {
        assert_eq!(BatchSizes::new().stats(), None);
        let longest = sizes(&[(0, 9, u64::MAX), (0, 9, u64::MAX), (1, 0, 1)]);
        assert_eq!(longest.stats().unwrap().p50, 9);
    }
}
