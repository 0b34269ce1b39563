//! Growth of the queue: whether a server keeps up with its load.

use alloc::vec::Vec;

use crate::sim::RequestRecord;
use crate::units::Seconds;

/// Mean queue times at the beginning and at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueGrowth {
    /// Mean over the first quarter of the served requests, by arrival.
    pub first_quarter: Seconds,
    /// Mean over the last quarter.
    pub last_quarter: Seconds,
}

impl QueueGrowth {
    /// Computes the queue times of a run; `None` if fewer than four requests were served.
    pub fn of(records: &[RequestRecord]) -> Option<QueueGrowth> {
        let served = records.iter().filter_map(|record| Some((record.request.arrival_ns, record.waiting()?)));
        let mut served: Vec<(u64, Seconds)> = served.collect();
        // Stable: requests of the same nanosecond queue in the order of the records.
        served.sort_by_key(|(arrival_ns, _)| *arrival_ns);
        let quarter = served.len() / 4;
        let first = served.get(..quarter)?;
        let last = served.get(served.len() - quarter..)?;
        (quarter > 0).then(|| QueueGrowth { first_quarter: mean(first), last_quarter: mean(last) })
    }

    /// Returns whether the queue grows as under overload, when requests arrive faster than they are served.
    ///
    /// Twice the time of the first quarter plus ten mean steps is allowed, for the warm-up of an empty server and
    /// for chance.
    pub fn is_overload(&self, mean_step: Seconds) -> bool {
        self.last_quarter > self.first_quarter * 2.0 + mean_step * 10.0
    }
}

fn mean(served: &[(u64, Seconds)]) -> Seconds {
    let sum: Seconds = served.iter().map(|(_, queue)| *queue).sum();
    sum * (1.0 / served.len() as f64)
}

#[cfg(test)]
mod tests {
    use crate::sim::{Outcome, Rejection, Request, Timing};

    use super::*;

    /// A request that arrives at `arrival_ms` and queues for `queue_ms`.
    fn served(arrival_ms: u64, queue_ms: u64) -> RequestRecord {
        RequestRecord {
            request: Request { arrival_ns: arrival_ms * 1_000_000, ..Request::default() },
            outcome: Outcome::Completed(Timing {
                at_engine_ns: arrival_ms * 1_000_000,
                scheduled_ns: (arrival_ms + queue_ms) * 1_000_000,
                ..Timing::default()
            }),
        }
    }

    #[test]
    fn quarters_are_those_of_served_requests_by_arrival() {
        let mut records: Vec<_> = (0..9).rev().map(|i| served(i, 10 * i)).collect();
        records.push(RequestRecord { request: Request::default(), outcome: Outcome::Rejected(Rejection::EmptyPrompt) });
        let growth = QueueGrowth::of(&records).unwrap();
        assert!((growth.first_quarter.ms() - 5.0).abs() < 1e-9);
        assert!((growth.last_quarter.ms() - 75.0).abs() < 1e-9);
        // 75 ms against 2 x 5 ms + 10 steps.
        assert!(growth.is_overload(Seconds(0.006)));
        assert!(!growth.is_overload(Seconds(0.007)));
        assert!(QueueGrowth::of(&records[..3]).is_none());
        assert!(QueueGrowth::of(&[]).is_none());
    }
}
