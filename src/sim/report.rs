//! The outcome of a run, and how it is written down while the run goes on.

use alloc::vec::Vec;

use crate::sim::metrics::{Latencies, Totals};
use crate::sim::observer::Observer;
use crate::sim::{Outcome, Request, RequestRecord, Summary, Timing};

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SimReport {
    /// One record per request, in the order in which the requests were given.
    pub records: Vec<RequestRecord>,
    /// Figures of the whole run.
    pub summary: Summary,
}

/// Writes down what became of each request of a list.
#[derive(Debug)]
pub(super) struct Recorder {
    records: Vec<RequestRecord>,
}

impl Recorder {
    /// A record for each request, to be filled.
    pub(super) fn new(requests: &[Request]) -> Recorder {
        let blank = |&request| RequestRecord {
            request,
            outcome: Outcome::Completed(Timing::default()),
        };
        Recorder {
            records: requests.iter().map(blank).collect(),
        }
    }

    /// The run is over.
    pub(super) fn into_report(self, totals: &Totals) -> SimReport {
        debug_assert_eq!(
            totals.completed + totals.rejected,
            self.records.len() as u64,
            "a request was lost"
        );
        let summary = Summary::new(Latencies::of(&self.records), totals);
        SimReport {
            records: self.records,
            summary,
        }
    }
}

impl Observer for Recorder {
    fn left(&mut self, place: usize, record: &RequestRecord) {
        if let Some(slot) = self.records.get_mut(place) {
            *slot = *record;
        }
    }
}
