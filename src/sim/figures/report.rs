//! The report of a run, and the observer that collects it.

use alloc::vec::Vec;

use crate::sim::figures::Summary;
use crate::sim::figures::Totals;
use crate::sim::figures::summary::Latencies;
use crate::sim::observer::Observer;
use crate::sim::{RequestRecord, StepTimeError};

/// The report of a run: a record per request, and a summary.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SimReport {
    /// One record per request, in the order of their indices in the source.
    pub records: Vec<RequestRecord>,
    /// Figures of the whole run.
    pub summary: Summary,
}

/// An observer that keeps a record of each request.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    records: Vec<(usize, RequestRecord)>,
}

impl Collector {
    /// Returns the report of the run that ended with `totals`.
    pub(crate) fn into_report(mut self, totals: &Totals) -> SimReport {
        debug_assert_eq!(totals.completed + totals.rejected, self.records.len() as u64, "a request was lost");
        self.records.sort_unstable_by_key(|(index, _)| *index);
        let records: Vec<RequestRecord> = self.records.into_iter().map(|(_, r)| r).collect();
        let summary = Summary::new(Latencies::of(&records), totals);
        SimReport { records, summary }
    }
}

impl Observer for Collector {
    fn finished(&mut self, index: usize, record: &RequestRecord) {
        self.records.push((index, *record));
    }
}

/// Calls `serve` with `observer` and a [`Collector`], and returns the report.
pub(crate) fn reported<O: Observer + ?Sized>(
    observer: &mut O,
    serve: impl FnOnce(&mut (&mut Collector, &mut O)) -> Result<Totals, StepTimeError>,
) -> Result<SimReport, StepTimeError> {
    let mut collector = Collector::default();
    let totals = serve(&mut (&mut collector, observer))?;
    Ok(collector.into_report(&totals))
}
