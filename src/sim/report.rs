//! The outcome of a run, and how it is written down while the run goes on.

use alloc::vec::Vec;

use crate::sim::kv_cache::KvCache;
use crate::sim::metrics::Counters;
use crate::sim::plan::Plan;
use crate::sim::{Outcome, Rejection, Request, RequestRecord, Summary, Timing};

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SimReport {
    /// One record per request, in the order in which the requests were given.
    pub records: Vec<RequestRecord>,
    /// Figures of the whole run.
    pub summary: Summary,
}

/// Writes down what happens, request by request.
#[derive(Debug)]
pub(super) struct Recorder {
    records: Vec<RequestRecord>,
    pub(super) counters: Counters,
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
            counters: Counters::default(),
        }
    }

    /// Request `index` can never be served.
    pub(super) fn rejected(&mut self, index: usize, reason: Rejection) {
        self.counters.rejected += 1;
        if let Some(record) = self.records.get_mut(index) {
            record.outcome = Outcome::Rejected(reason);
        }
    }

    /// Request `index` is seen by the engine at `now_ns`.
    pub(super) fn seen(&mut self, index: usize, at_engine_ns: u64) {
        self.update(index, |timing| timing.at_engine_ns = at_engine_ns);
    }

    /// `plan` is fixed at `now_ns`.
    pub(super) fn scheduled(&mut self, plan: &Plan, now_ns: u64) {
        for &index in &plan.admitted {
            self.update(index, |timing| {
                // Only the first admission: every later one follows a preemption.
                if timing.preemptions == 0 {
                    timing.scheduled_ns = now_ns;
                }
            });
        }
        for &index in &plan.preempted {
            self.counters.preemptions += 1;
            self.update(index, |timing| timing.preemptions += 1);
        }
    }

    /// A step in which nothing happened but that requests took a token took `duration_ns`, while
    /// `blocks` were held.
    #[inline]
    pub(super) fn decoded(&mut self, duration_ns: u64, blocks: u32) {
        self.counters.steps += 1;
        self.counters.block_ns += u128::from(duration_ns) * u128::from(blocks);
    }

    /// `plan` took `duration_ns` until `now_ns`, while `blocks` were held.
    pub(super) fn executed(&mut self, plan: &Plan, duration_ns: u64, now_ns: u64, blocks: u32) {
        self.decoded(duration_ns, blocks);
        for &index in &plan.first_tokens {
            self.update(index, |timing| timing.first_token_ns = now_ns);
        }
        for &(index, _) in &plan.finished {
            self.counters.completed += 1;
            self.update(index, |timing| timing.finish_ns = now_ns);
        }
    }

    /// The run is over.
    pub(super) fn into_report(self, kv: &KvCache) -> SimReport {
        let Counters {
            completed,
            rejected,
            ..
        } = self.counters;
        debug_assert_eq!(
            completed + rejected,
            self.records.len() as u64,
            "a request was lost"
        );
        let summary = Summary::new(&self.records, self.counters, kv);
        SimReport {
            records: self.records,
            summary,
        }
    }

    fn update(&mut self, index: usize, change: impl FnOnce(&mut Timing)) {
        if let Some(record) = self.records.get_mut(index)
            && let Outcome::Completed(timing) = &mut record.outcome
        {
            change(timing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::running::Admitted;

    #[test]
    fn the_first_admission_counts_and_every_preemption() {
        let mut recorder = Recorder::new(&[Request::default(); 2]);
        let mut plan = Plan::new();
        plan.admitted.push(0);
        recorder.scheduled(&plan, 10);
        plan.clear();
        plan.preempted.push(0);
        recorder.scheduled(&plan, 20);
        plan.clear();
        plan.admitted.push(0);
        recorder.scheduled(&plan, 30);
        plan.clear();
        plan.first_tokens.push(0);
        plan.finished.push((0, Admitted::default()));
        recorder.executed(&plan, 10, 40, 3);
        recorder.rejected(1, Rejection::EmptyPrompt);

        let report = recorder.into_report(&KvCache::new(8, 16));
        let timing = Timing {
            at_engine_ns: 0,
            scheduled_ns: 10,
            first_token_ns: 40,
            finish_ns: 40,
            preemptions: 1,
        };
        let outcomes = [
            Outcome::Completed(timing),
            Outcome::Rejected(Rejection::EmptyPrompt),
        ];
        assert_eq!(report.records[0].outcome, outcomes[0]);
        assert_eq!(report.records[1].outcome, outcomes[1]);
        assert_eq!(report.summary.preemptions, 1);
        assert_eq!(report.summary.rejected, 1);
    }

    #[test]
    #[should_panic(expected = "a request was lost")]
    #[cfg(debug_assertions)]
    fn a_request_without_an_outcome_is_caught() {
        let recorder = Recorder::new(&[Request::default()]);
        recorder.into_report(&KvCache::new(8, 16));
    }
}
