//! The outcome of a run, and how it is written down while the run goes on.

use alloc::vec::Vec;

use crate::sim::metrics::Totals;
use crate::sim::observer::Observer;
use crate::sim::{Outcome, Progress, Request, RequestRecord, Summary, Timing};

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SimReport {
    /// One record per request, in the order in which the requests were given, or by their places in
    /// the source.
    pub records: Vec<RequestRecord>,
    /// Figures of the whole run.
    pub summary: Summary,
}

/// Writes down what became of each request of a list.
#[derive(Debug)]
pub(super) struct Recorder<F> {
    records: Vec<RequestRecord>,
    observe: F,
}

impl<F: FnMut(Progress)> Recorder<F> {
    /// A record for each request, to be filled.
    pub(super) fn new(requests: &[Request], observe: F) -> Recorder<F> {
        let blank = |&request| RequestRecord {
            request,
            outcome: Outcome::Completed(Timing::default()),
        };
        Recorder {
            records: requests.iter().map(blank).collect(),
            observe,
        }
    }

    /// The run is over.
    pub(super) fn into_report(self, totals: &Totals) -> SimReport {
        debug_assert_eq!(
            totals.completed + totals.rejected,
            self.records.len() as u64,
            "a request was lost"
        );
        let summary = Summary::new(&self.records, totals);
        SimReport {
            records: self.records,
            summary,
        }
    }
}

/// Keeps what became of each request of a source.
#[derive(Debug, Default)]
pub(super) struct Collector {
    records: Vec<(usize, RequestRecord)>,
}

impl Collector {
    /// The run is over.
    pub(super) fn into_report(mut self, totals: &Totals) -> SimReport {
        self.records.sort_unstable_by_key(|(place, _)| *place);
        let records: Vec<RequestRecord> = self.records.into_iter().map(|(_, r)| r).collect();
        let summary = Summary::new(&records, totals);
        SimReport { records, summary }
    }
}

impl Observer for Collector {
    fn left(&mut self, place: usize, record: &RequestRecord) {
        self.records.push((place, *record));
    }
}

impl<F: FnMut(Progress)> Observer for Recorder<F> {
    fn left(&mut self, place: usize, record: &RequestRecord) {
        if let Some(slot) = self.records.get_mut(place) {
            *slot = *record;
        }
    }

    fn progress(&mut self, progress: &Progress) {
        (self.observe)(*progress);
    }
}
