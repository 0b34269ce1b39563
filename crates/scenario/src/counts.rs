//! Counts of a run beside its steady state, and the observer of the caller.

use rooflut::sim::figures::{LimitShares, LimitTimes};
use rooflut::sim::{Observer, Progress, RequestRecord, StepRecord};
use rooflut::step::StepBatch;
use rooflut_report::Rejections;

use crate::busiest::Served;
use crate::run::Run;
use crate::windows::Windows;

/// Counts what the report of a run names, and passes all events on to the caller's observer.
///
/// The caller's observer is a `dyn` one, so that the simulators are compiled once, not once for each caller.
pub(crate) struct Counts<'o> {
    pub(crate) rejections: Rejections,
    pub(crate) served: Served,
    pub(crate) times: KindLimits,
    /// Figures over time, if they are asked for.
    pub(crate) windows: Option<Windows>,
    caller: &'o mut dyn Observer,
    /// Constant for an observer, and asked for in each step.
    caller_wants_steps: bool,
}

/// Times for which the limits of each kind of server hold requests back.
pub(crate) struct KindLimits {
    first: LimitTimes,
    /// Limits of other kinds of servers, each behind the number of replicas before it.
    others: Vec<(u32, LimitTimes)>,
}

impl KindLimits {
    fn new(run: &Run) -> KindLimits {
        let others = run.groups().into_iter().skip(1).filter(|_| run.is_mixed());
        let others = others.map(|group| (group.replicas.start, LimitTimes::new(group.kind.config())));
        KindLimits { first: LimitTimes::new(run.config()), others: others.collect() }
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        let other = self.others.iter_mut().rfind(|(begin, _)| *begin <= step.replica);
        other.map_or(&mut self.first, |(_, times)| times).step(step);
    }

    /// Returns the shares of all; `None` without a step.
    pub(crate) fn shares(self) -> Option<LimitShares> {
        self.others.into_iter().fold(self.first, |all, (_, times)| all.plus(times)).shares()
    }
}

impl<'o> Counts<'o> {
    pub(crate) fn new(run: &Run, windows: Option<Windows>, caller: &'o mut dyn Observer) -> Counts<'o> {
        Counts {
            rejections: Rejections::default(),
            served: Served::default(),
            times: KindLimits::new(run),
            windows,
            caller_wants_steps: caller.wants_steps(),
            caller,
        }
    }
}

impl Observer for Counts<'_> {
    #[inline]
    fn wants_steps(&self) -> bool {
        true
    }

    #[inline]
    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        if self.caller_wants_steps {
            self.caller.step_batch(batch);
        }
    }

    #[inline]
    fn step(&mut self, step: &StepRecord) {
        self.times.step(step);
        self.windows.step(step);
        if self.caller_wants_steps {
            self.caller.step(step);
        }
    }

    fn resumed(&mut self, index: usize, gap_ns: u64) {
        self.windows.resumed(index, gap_ns);
        self.caller.resumed(index, gap_ns);
    }

    fn finished(&mut self, index: usize, record: &RequestRecord) {
        self.rejections.finished(index, record);
        self.served.finished(index, record);
        self.windows.finished(index, record);
        self.caller.finished(index, record);
    }

    fn progress(&mut self, progress: &Progress) {
        self.caller.progress(progress);
    }

    fn wants_more(&self) -> bool {
        self.caller.wants_more()
    }
}
