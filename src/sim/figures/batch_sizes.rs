//! How many requests a step computes.

use alloc::vec::Vec;

use crate::sim::{Observer, StepRecord};

/// Looks at each step and counts for how long batches of each size ran.
///
/// The size of a batch is the number of requests that the step computes: prompts, or chunks of them, and
/// requests that decode. Sizes are weighed by the time of their steps, so that a percentile says how
/// often somebody who looks at a busy server would find at most so many requests in its step.
///
/// Cost: one sum for each step. Memory: 8 bytes for each size up to the largest.
///
/// ```
/// use rooflut::sim::figures::BatchSizes;
/// use rooflut::sim::load::RequestList;
/// use rooflut::sim::{Request, SimConfig, Simulator};
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # use rooflut::units::Seconds;
/// # struct Steady;
/// # impl LatencyModel for Steady {
/// #     fn total_time(&self, _: &StepBatch<'_>) -> Seconds {
/// #         Seconds(0.01)
/// #     }
/// # }
/// # let model = Steady; // 10 ms a step
/// let request = Request::new(512, 128);
/// let mut sizes = BatchSizes::new();
/// let server = Simulator::try_new(model, SimConfig::new(8_192, 27_000))?;
/// server.run_source(&mut RequestList::new(&[request; 3]), &mut sizes);
/// assert_eq!(sizes.stats().expect("steps").p50, 3);
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct BatchSizes {
    /// Nanoseconds by size.
    busy_ns: Vec<u64>,
}

/// Mean and percentiles of the batch sizes, over the time in which steps ran.
///
/// A percentile is the smallest size such that batches of at most this size ran for that share of the
/// time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// No step yet.
    pub fn new() -> BatchSizes {
        BatchSizes::default()
    }

    /// Mean and percentiles; none if there was no step.
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
            sizes.step(&StepRecord {
                prefill_chunks,
                decode_requests,
                duration_ns,
                ..StepRecord::default()
            });
        }
        sizes
    }

    #[test]
    fn a_size_counts_for_as_long_as_its_steps_run() {
        // 50 ns with 4 requests, 40 with 1, 9 with 7, 1 with 100, in any order.
        let stats = sizes(&[(1, 6, 9), (0, 4, 20), (1, 0, 40), (2, 2, 30), (0, 100, 1)]);
        let stats = stats.stats().unwrap();
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
