//! Queue times in the order of arrival, without a record per request.

use alloc::vec;
use alloc::vec::Vec;

use crate::sim::figures::QueueGrowth;
use crate::units::Seconds;

/// Number of blocks of consecutive requests.
const BLOCKS: usize = 1_024;

/// Queue times, summed over blocks of consecutive requests.
///
/// Exact up to 1,024 requests. Beyond, the block in which a quarter ends counts in part, as if all its requests had
/// queued for the same time.
#[derive(Debug, Clone)]
pub(crate) struct QueueTrend {
    /// Number of served requests, and the sum of their queue times.
    blocks: Vec<(u64, Seconds)>,
    /// Consecutive requests per block.
    width: usize,
    served: u64,
}

impl QueueTrend {
    /// Creates a trend of no requests.
    pub(crate) fn new() -> QueueTrend {
        QueueTrend { blocks: vec![(0, Seconds::ZERO); BLOCKS], width: 1, served: 0 }
    }

    /// Adds a served request. Indices must ascend with arrivals.
    pub(crate) fn add(&mut self, index: usize, queue: Seconds) {
        while index / self.width >= BLOCKS {
            self.widen();
        }
        self.served += 1;
        if let Some((served, sum)) = self.blocks.get_mut(index / self.width) {
            *served += 1;
            *sum += queue;
        }
    }

    /// Returns the mean queue times of the first and the last quarter of the served requests.
    pub(crate) fn growth(&self) -> Option<QueueGrowth> {
        let quarter = self.served / 4;
        (quarter > 0).then(|| QueueGrowth {
            first_quarter: mean_of_first(quarter, self.blocks.iter()),
            last_quarter: mean_of_first(quarter, self.blocks.iter().rev()),
        })
    }

    /// Merges pairs of blocks.
    fn widen(&mut self) {
        let pair = |pair: &[(u64, Seconds)]| {
            let served = pair.iter().map(|(served, _)| served).sum();
            (served, pair.iter().map(|(_, sum)| *sum).sum())
        };
        self.blocks = self.blocks.chunks(2).map(pair).collect();
        self.blocks.resize(BLOCKS, (0, Seconds::ZERO));
        self.width *= 2;
    }
}

/// Returns the mean queue time of the first `count` requests of `blocks`.
fn mean_of_first<'b>(count: u64, blocks: impl Iterator<Item = &'b (u64, Seconds)>) -> Seconds {
    let mut left = count;
    let mut sum = Seconds::ZERO;
    for &(served, of_block) in blocks {
        let taken = served.min(left);
        if taken > 0 {
            sum += of_block * (taken as f64 / served as f64);
            left -= taken;
        }
    }
    sum * (1.0 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Request `i` of `count` queues for `i` milliseconds.
    fn rising(count: usize) -> QueueGrowth {
        let mut trend = QueueTrend::new();
        for index in (0..count).rev() {
            trend.add(index, Seconds(index as f64 / 1e3));
        }
        trend.growth().unwrap()
    }

    #[test]
    fn few_requests_are_exact() {
        let growth = rising(9);
        assert!((growth.first_quarter.ms() - 0.5).abs() < 1e-9);
        assert!((growth.last_quarter.ms() - 7.5).abs() < 1e-9);
        assert!(QueueTrend::new().growth().is_none());
    }

    #[test]
    fn many_requests_keep_their_trend() {
        for count in [1_024, 1_025, 100_003, 1_000_000] {
            let growth = rising(count);
            let quarter = (count / 4) as f64;
            let first = (quarter - 1.0) / 2.0;
            let last = count as f64 - 1.0 - first;
            assert!((growth.first_quarter.ms() / first - 1.0).abs() < 0.01);
            assert!((growth.last_quarter.ms() / last - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn requests_that_were_rejected_leave_no_gap() {
        let mut trend = QueueTrend::new();
        for index in (0..80_000).filter(|index| index % 10 == 0) {
            trend.add(index, Seconds(if index < 40_000 { 1.0 } else { 3.0 }));
        }
        let growth = trend.growth().unwrap();
        assert!((growth.first_quarter.0 - 1.0).abs() < 1e-9);
        assert!((growth.last_quarter.0 - 3.0).abs() < 1e-9);
    }
}
