//! Several replicas of a server behind a router.

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::marker::PhantomData;

use crate::sim::content::mix;
use crate::sim::metrics::Totals;
use crate::sim::observer::{Observer, StepRecord};
use crate::sim::report::Collector;
use crate::sim::run::Run;
use crate::sim::source::Source;
use crate::sim::{
    Content, Outcome, Progress, Request, RequestRecord, SimConfig, SimError, SimReport,
};
use crate::step::LatencyModel;

/// Which replica a request goes to, decided when it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Router {
    /// One after the other.
    #[default]
    RoundRobin,
    /// The one whose requests, those that have not been served by then, have the fewest tokens of prompt
    /// and output; of equals the first.
    LeastOutstandingTokens,
    /// Always the same for the same prefix, or, of requests without one, for the same session, so that
    /// it finds what it has computed; requests that share nothing as
    /// [`LeastOutstandingTokens`](Router::LeastOutstandingTokens).
    PrefixAffinity,
}

/// Equal replicas of a server behind a router that costs no time.
///
/// ```
/// use rooflut::sim::{Cluster, Listed, Request, Router, SimConfig};
/// # use rooflut::step::{Binding, LatencyModel, Part, StepBatch, StepTime};
/// # struct Linear;
/// # impl LatencyModel for Linear {
/// #     fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
/// #         let mut time = StepTime::ZERO;
/// #         let seconds = rooflut::units::Seconds::from_us(batch.tokens() as f64);
/// #         time.add(Part::Qkv, seconds, Binding::Memory, rooflut::table::Provenance::Bound);
/// #         time
/// #     }
/// # }
/// let requests = [Request { prompt_tokens: 512, output_tokens: 128, ..Request::default() }; 10];
/// let cluster = Cluster::try_new(Linear, SimConfig::new(8_192, 1_000), 4, Router::RoundRobin)?;
/// assert_eq!(cluster.serve(&mut Listed::new(&requests), &mut ()).completed, 10);
/// # Ok::<(), rooflut::sim::SimError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cluster<M> {
    model: M,
    config: SimConfig,
    replicas: u32,
    router: Router,
}

impl<M: LatencyModel> Cluster<M> {
    /// `replicas` servers with these limits each.
    ///
    /// # Errors
    /// [`SimError`] if no step could run under these limits, or there is no replica.
    pub fn try_new(
        model: M,
        config: SimConfig,
        replicas: u32,
        router: Router,
    ) -> Result<Cluster<M>, SimError> {
        config.validate()?;
        if replicas == 0 {
            return Err(SimError::ZeroLimit { limit: "replicas" });
        }
        Ok(Cluster {
            model,
            config,
            replicas,
            router,
        })
    }

    /// Serves what comes from `source`, while `observer` looks on, and keeps what became of each request,
    /// in the order of their places.
    pub fn run_source<S: Source, O: Observer>(
        &self,
        source: &mut S,
        observer: &mut O,
    ) -> SimReport {
        let mut collector = Collector::default();
        let totals = self.serve(source, &mut (&mut collector, observer));
        collector.into_report(&totals)
    }

    /// Serves what comes from `source`, from empty servers until all are done, while `observer` looks on.
    ///
    /// Requests leave in the order in which they are found to: not always that of the clock, as replicas
    /// are simulated one after the other between two arrivals. Counts add up over the replicas, their
    /// peaks of KV blocks, too.
    pub fn serve<S: Source, O: Observer>(&self, source: &mut S, observer: &mut O) -> Totals {
        let replica = |_| Run::new(self.config, Inbox::default(), Outbox::<O>::default());
        let mut runs: Vec<_> = (0..self.replicas).map(replica).collect();
        let mut desk = Desk::new(self.router, self.replicas);
        let mut turns = 0_u64;
        loop {
            if turns.is_multiple_of(TURNS_PER_REPORT) {
                observer.progress(&progress(&mut runs, source.total()));
            }
            turns += 1;
            let arrival_ns = source.next_arrival_ns();
            match next_to_run(&mut runs, arrival_ns, self.config.api_server_ns) {
                Some(place) => {
                    let horizon_ns = match source.feeds_back() {
                        true => earliest_other(&mut runs, place),
                        false => u64::MAX,
                    };
                    let at_engine = |ns: u64| ns.saturating_add(self.config.api_server_ns);
                    let horizon_ns = horizon_ns.min(arrival_ns.map_or(u64::MAX, at_engine));
                    let Some(run) = runs.get_mut(place) else {
                        break;
                    };
                    run.step(&self.model, horizon_ns);
                    run.observer.forward(place as u32, observer);
                    for (request, mut record) in run.observer.left.drain(..) {
                        if let Outcome::Completed(timing) = &mut record.outcome {
                            timing.replica = place as u32;
                        }
                        let finish_ns = record.timing().map_or(run_end(&record), |t| t.finish_ns);
                        desk.left(place, &record.request, finish_ns);
                        observer.left(request, &record);
                        source.left(request, &record.request, finish_ns);
                    }
                }
                None => {
                    let Some((place, request)) = source.take() else {
                        break;
                    };
                    let (ids, tokens) = source.listed(&request);
                    let replica = desk.route(&request, ids);
                    if let Some(run) = runs.get_mut(replica) {
                        run.source.push(place, request, ids, tokens);
                    }
                }
            }
        }
        observer.progress(&progress(&mut runs, source.total()));
        let totals = runs.into_iter().map(Run::into_totals);
        totals.fold(Totals::default(), Totals::plus)
    }
}

/// When a request that was rejected left.
fn run_end(record: &RequestRecord) -> u64 {
    record.request.arrival_ns
}

/// Turns of the router between two reports of progress.
const TURNS_PER_REPORT: u64 = 1 << 10;

type Replica<O> = Run<Inbox, Outbox<O>>;

/// Where all replicas together are: at the time of the one that is furthest behind, of those that are
/// busy.
fn progress<O: Observer>(runs: &mut [Replica<O>], total: Option<u64>) -> Progress {
    let mut all = Progress {
        total,
        ..Progress::default()
    };
    let mut behind_ns = None;
    for run in runs {
        let one = run.progress();
        if !run.is_idle() {
            let begins_ns = run.begins_ns();
            behind_ns = Some(behind_ns.map_or(begins_ns, |ns: u64| ns.min(begins_ns)));
        }
        all.now_ns = all.now_ns.max(one.now_ns);
        all.steps += one.steps;
        all.completed += one.completed;
        all.rejected += one.rejected;
        all.waiting += one.waiting;
        all.running += one.running;
        all.kv_blocks_used = all.kv_blocks_used.saturating_add(one.kv_blocks_used);
    }
    all.now_ns = behind_ns.unwrap_or(all.now_ns);
    all
}

/// The replica that is furthest behind of those that have something to do before the next arrival.
fn next_to_run<O: Observer>(
    runs: &mut [Replica<O>],
    arrival_ns: Option<u64>,
    api_server_ns: u64,
) -> Option<usize> {
    let horizon_ns = arrival_ns.map_or(u64::MAX, |ns| ns.saturating_add(api_server_ns));
    let mut first: Option<(u64, usize)> = None;
    for (place, run) in runs.iter_mut().enumerate() {
        if run.is_idle() {
            continue;
        }
        let begins_ns = run.begins_ns();
        let before_arrival = arrival_ns.is_none() || begins_ns < horizon_ns;
        if before_arrival && first.is_none_or(|(earliest, _)| begins_ns < earliest) {
            first = Some((begins_ns, place));
        }
    }
    first.map(|(_, place)| place)
}

/// When another replica may have news.
fn earliest_other<O: Observer>(runs: &mut [Replica<O>], place: usize) -> u64 {
    let others = runs.iter_mut().enumerate();
    let busy = others
        .filter_map(|(other, run)| (other != place && !run.is_idle()).then(|| run.begins_ns()));
    busy.min().unwrap_or(u64::MAX)
}

/// Who decides where requests go, and what that needs.
#[derive(Debug)]
struct Desk {
    router: Router,
    /// Requests so far.
    routed: usize,
    /// Tokens of requests that have not been served, by replica.
    outstanding: Vec<u64>,
    /// Requests that leave: when, where, tokens.
    leaving: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

impl Desk {
    fn new(router: Router, replicas: u32) -> Desk {
        Desk {
            router,
            routed: 0,
            outstanding: (0..replicas).map(|_| 0).collect(),
            leaving: BinaryHeap::new(),
        }
    }

    /// A request leaves a replica at `finish_ns`.
    fn left(&mut self, replica: usize, request: &Request, finish_ns: u64) {
        let leaving = (finish_ns, replica, request.tokens());
        self.leaving.push(Reverse(leaving));
    }

    /// The replica that a request goes to; `ids` are those of its trace.
    fn route(&mut self, request: &Request, ids: &[u64]) -> usize {
        while let Some(&Reverse((finish_ns, replica, tokens))) = self.leaving.peek()
            && finish_ns <= request.arrival_ns
        {
            self.leaving.pop();
            if let Some(outstanding) = self.outstanding.get_mut(replica) {
                *outstanding -= tokens;
            }
        }
        let replica = match (self.router, first_text(request, ids)) {
            (Router::RoundRobin, _) => self.routed % self.outstanding.len(),
            (Router::PrefixAffinity, Some(text)) => {
                (mix(0, text) % self.outstanding.len() as u64) as usize
            }
            _ => self.least(),
        };
        self.routed += 1;
        if let Some(outstanding) = self.outstanding.get_mut(replica) {
            *outstanding += request.tokens();
        }
        replica
    }

    fn least(&self) -> usize {
        let replicas = self.outstanding.iter().enumerate();
        replicas
            .min_by_key(|(_, tokens)| **tokens)
            .map_or(0, |(place, _)| place)
    }
}

/// The text by which a request belongs to a replica: what it begins with. `ids` are those of its trace.
fn first_text(request: &Request, ids: &[u64]) -> Option<u64> {
    match request.content {
        Content::Unique => None,
        Content::Texts {
            prefix_tokens: 0,
            own,
            ..
        } => Some(own),
        Content::Texts { prefix, .. } => Some(prefix),
        Content::Listed { .. } => ids.first().copied(),
    }
}

/// The requests that were routed to a replica, in the order of their arrival.
#[derive(Debug, Default)]
struct Inbox {
    requests: VecDeque<(usize, Request, Vec<u64>)>,
    /// Of the last one that was taken.
    ids: Vec<u64>,
    tokens_of_id: u32,
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
