//! Equal servers that share what is routed to them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::desk::{Desk, Router};
use crate::sim::Totals;
use crate::sim::observer::{Observer, StepRecord};
use crate::sim::run::Run;
use crate::sim::source::Source;
use crate::sim::{Outcome, Progress, Request, RequestRecord, SimConfig};
use crate::step::LatencyModel;

/// Equal servers, and who decides where a request goes.
#[derive(Debug)]
pub(super) struct Pool<O> {
    runs: Vec<Run<Inbox, Outbox<O>>>,
    desk: Desk,
    /// The number of its first replica.
    first: u32,
    /// Who has left since it was asked last.
    left: Vec<Left>,
}

/// A request that has left a replica.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    /// The replica, counted from 0 in its pool.
    pub(super) replica: usize,
    pub(super) place: usize,
    pub(super) record: RequestRecord,
    /// When it left.
    pub(super) at_ns: u64,
}

impl<O: Observer> Pool<O> {
    /// `replicas` servers with nothing to do, numbered from `first` on; `feeds_back` says whether requests come
    /// because others have left.
    pub(super) fn new(
        config: SimConfig,
        replicas: u32,
        router: Router,
        first: u32,
        feeds_back: bool,
    ) -> Pool<O> {
        let inbox = || Inbox {
            feeds_back,
            ..Inbox::default()
        };
        let replica = |_| Run::new(config, inbox(), Outbox::default());
        Pool {
            runs: (0..replicas).map(replica).collect(),
            desk: Desk::new(router, replicas),
            first,
            left: Vec::new(),
        }
    }

    /// Sends a request to one of the replicas. Requests come in the order of their arrival; `ids` are those of
    /// its trace, each of which stands for `tokens` tokens.
    pub(super) fn push(&mut self, place: usize, request: Request, ids: &[u64], tokens: u32) {
        let replica = self.desk.route(&request, ids);
        if let Some(run) = self.runs.get_mut(replica) {
            run.source.push(place, request, ids, tokens);
        }
    }

    /// When the next step begins, and which replica, other than `except`, runs it; `None` where there is
    /// nothing to do.
    pub(super) fn next(&mut self, except: Option<usize>) -> Option<(u64, usize)> {
        let runs = self.runs.iter_mut().enumerate();
        let busy = runs.filter_map(|(replica, run)| {
            let asked = Some(replica) != except && !run.is_idle();
            asked.then(|| (run.begins_ns(), replica))
        });
        busy.min()
    }

    /// Lets a replica run a step, and those after it that begin before `horizon_ns` and in which nothing
    /// happens.
    pub(super) fn step(
        &mut self,
        replica: usize,
        model: &impl LatencyModel,
        horizon_ns: u64,
        observer: &mut O,
    ) {
        let Some(run) = self.runs.get_mut(replica) else {
            return;
        };
        run.step(model, horizon_ns);
        run.observer.forward(self.first + replica as u32, observer);
        let times_ns = run.source.left_ns.drain(..);
        for ((place, mut record), at_ns) in run.observer.left.drain(..).zip(times_ns) {
            if let Outcome::Completed(timing) = &mut record.outcome {
                timing.replica = self.first + replica as u32;
            }
            self.desk.left(replica, &record.request, at_ns);
            self.left.push(Left {
                replica,
                place,
                record,
                at_ns,
            });
        }
    }

    /// Where all replicas together are: at the time of the one that is furthest behind, of those that are
    /// busy.
    pub(super) fn progress(&mut self, total: Option<u64>) -> Progress {
        let behind = self.next(None);
        let all = Progress {
            total,
            ..Progress::default()
        };
        let all = self
            .runs
            .iter()
            .map(Run::progress)
            .fold(all, Progress::plus);
        Progress {
            now_ns: behind.map_or(all.now_ns, |(begins_ns, _)| begins_ns),
            ..all
        }
    }

    /// Who has left since this was asked last.
    pub(super) fn drain_left(&mut self) -> impl Iterator<Item = Left> {
        self.left.drain(..)
    }

    /// What was counted; the run is over.
    pub(super) fn into_totals(self) -> Totals {
        let totals = self.runs.into_iter().map(Run::into_totals);
        totals.fold(Totals::default(), Totals::plus)
    }
}

/// The requests that were routed to a replica, in the order of their arrival.
#[derive(Debug, Default)]
struct Inbox {
    requests: VecDeque<(usize, Request, Vec<u64>)>,
    /// Of the last one that was taken.
    ids: Vec<u64>,
    tokens_of_id: u32,
    /// When requests left, in the order in which they did.
    left_ns: Vec<u64>,
    feeds_back: bool,
}

impl Inbox {
    fn push(&mut self, place: usize, request: Request, ids: &[u64], tokens: u32) {
        self.requests.push_back((place, request, ids.to_vec()));
        self.tokens_of_id = tokens;
    }
}

impl Source for Inbox {
    fn next_arrival_ns(&mut self) -> Option<u64> {
        self.requests
            .front()
            .map(|(_, request, _)| request.arrival_ns)
    }

    fn take(&mut self) -> Option<(usize, Request)> {
        let (place, request, ids) = self.requests.pop_front()?;
        self.ids = ids;
        Some((place, request))
    }

    fn left(&mut self, _: usize, _: &Request, now_ns: u64) {
        self.left_ns.push(now_ns);
    }

    fn feeds_back(&self) -> bool {
        self.feeds_back
    }

    fn listed(&self, _: &Request) -> (&[u64], u32) {
        (&self.ids, self.tokens_of_id)
    }
}

/// What a replica has to tell.
#[derive(Debug)]
struct Outbox<O> {
    left: Vec<(usize, RequestRecord)>,
    steps: Vec<StepRecord>,
    resumed: Vec<(usize, u64)>,
    reader: PhantomData<O>,
}

impl<O> Default for Outbox<O> {
    fn default() -> Outbox<O> {
        Outbox {
            left: Vec::new(),
            steps: Vec::new(),
            resumed: Vec::new(),
            reader: PhantomData,
        }
    }
}

impl<O: Observer> Outbox<O> {
    /// Tells the steps, and who went on after a preemption.
    fn forward(&mut self, replica: u32, observer: &mut O) {
        for step in self.steps.drain(..) {
            observer.step(&StepRecord { replica, ..step });
        }
        for (place, gap_ns) in self.resumed.drain(..) {
            observer.resumed(place, gap_ns);
        }
    }
}

impl<O: Observer> Observer for Outbox<O> {
    const EACH_STEP: bool = O::EACH_STEP;

    fn step(&mut self, step: &StepRecord) {
        self.steps.push(*step);
    }

    fn resumed(&mut self, place: usize, gap_ns: u64) {
        self.resumed.push((place, gap_ns));
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        self.left.push((place, *record));
    }
}
