//! A server that is driven from outside.

mod cancel;
mod event;
mod inbox;
mod pipeline;
mod reports;
mod requests;
mod steps;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use self::event::StepBuffers;
use self::inbox::Inbox;
use self::pipeline::Pipeline;
use self::steps::InFlight;
use crate::error::Invalid;
use crate::sim::figures::Totals;
use crate::sim::load::arrived::Arrived;
use crate::sim::memory::content::BlockIds;
use crate::sim::observer::Observer;
use crate::sim::schedule::interrupted::Interrupted;
use crate::sim::schedule::plan::Plan;
use crate::sim::schedule::scheduler::Scheduler;
use crate::sim::{Request, ServerError, SimConfig, StepTimeError};
use crate::step::LatencyModel;

pub(in crate::sim) use steps::RankStep;

pub use event::{RequestId, ServerEvent, StepOutcome};

/// A server that is driven from outside: by a router, by another simulator's clock, by a test.
///
/// [`push`](Server::push) adds requests, [`advance_to`](Server::advance_to) moves the clock, and
/// [`drain_events`](Server::drain_events) returns the events since the last call.
/// [`Simulator`](crate::sim::Simulator), [`Cluster`](crate::sim::cluster::Cluster) and
/// [`Disaggregated`](crate::sim::cluster::Disaggregated) are loops over servers.
///
/// # Time
///
/// At a step boundary the results of the step are applied first, then requests are aborted that were
/// [cancelled](Server::cancel) or whose clients have given up, then arrivals up to that nanosecond are received, then
/// the next step begins. `advance_to(t)` ends a step that ends at `t` and begins none at `t`: a request that arrives at
/// `t`, perhaps because of a result at `t`, can still be pushed and is scheduled in the step that begins then. An event
/// loop advances to [`next_event_ns`](Server::next_event_ns) until it is `None`:
///
/// ```
/// use rooflut::sim::{Request, Server, ServerEvent, SimConfig};
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # use rooflut::units::Seconds;
/// # struct Linear;
/// # impl LatencyModel for Linear {
/// #     fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
/// #         Seconds::from_us(100.0 + batch.tokens() as f64)
/// #     }
/// # }
/// let mut server = Server::try_new(Linear, SimConfig::new(8_192, 1_000))?;
/// let first = server.push(Request::new(512, 3))?;
/// let mut finished = Vec::new();
/// while let Some(at_ns) = server.next_event_ns() {
///     server.advance_to(at_ns)?;
///     for event in server.drain_events() {
///         if let ServerEvent::Finished { id, at_ns, .. } = event {
///             finished.push((id, at_ns));
///         }
///     }
/// }
/// // A step of 612 us, and two of 101 us.
/// assert_eq!(finished, [(first, 814_000)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Copies
///
/// A copy ([`Clone`]) has the same clock, requests and KV cache and goes on by itself: a router or a scheduler can look
/// ahead on it.
///
/// # Cost
///
/// A step costs O(1) for any batch size, a request O(log n). Steps that preempt visit all running requests, and
/// with speculative decoding all steps do. Once the buffers have grown to their largest size, a step does not
/// allocate. Events are kept until they are drained.
#[derive(Debug, Clone)]
pub struct Server<M> {
    model: M,
    config: SimConfig,
    /// Index among the replicas of a run.
    replica: u32,
    now_ns: u64,
    /// End of the last sleep after a schedule without work.
    wakes_ns: u64,
    scheduler: Scheduler,
    totals: Totals,
    interrupted: Interrupted,
    /// The step in flight, or the last one.
    current: Box<Plan>,
    /// The following step, if it is fixed already.
    next: Box<Plan>,
    in_flight: Option<InFlight>,
    /// The step that the clock cannot hold, after which there is no other.
    failed: Option<StepTimeError>,
    /// The steps after it that have begun as well.
    pipeline: Pipeline,
    inbox: Inbox,
    /// Requests to abort at the next step boundary, or when the engine sees them.
    cancelled: BTreeSet<usize>,
    /// Number of requests pushed so far.
    pushed: usize,
    /// Tokens of the waiting and running requests.
    queued_tokens: u64,
    events: Vec<ServerEvent>,
    buffers: StepBuffers,
}

impl<M: LatencyModel> Server<M> {
    /// Creates an idle server at time 0 whose steps take as long as `model` predicts.
    ///
    /// # Errors
    /// [`Invalid`] if no step can run under these limits.
    pub fn try_new(model: M, config: SimConfig) -> Result<Server<M>, Invalid> {
        config.validate()?;
        Ok(Server::new(model, config, 0))
    }

    /// Sets the number of the server among those of a run, the `replica` of its records.
    #[must_use]
    pub fn with_replica(self, replica: u32) -> Server<M> {
        Server { replica, ..self }
    }

    /// Adds a request and returns its id.
    ///
    /// Requests may be pushed in any order of arrival, also long before they arrive; requests of the same
    /// nanosecond queue in the order of the calls. The engine sees a request `api_server_ns` after its arrival.
    /// If the queue is full then, the request is rejected with a [`ServerEvent::Finished`], and later if its client gives
    /// up before the first token ([`SimConfig::patience_ns`]).
    ///
    /// # Errors
    /// [`ServerError::ArrivalBeforeNow`] for an arrival in the past, [`ServerError::NeverServed`] for a request
    /// that exceeds a limit of the server. The server is unchanged.
    pub fn push(&mut self, request: Request) -> Result<RequestId, ServerError> {
        self.push_with_ids(request, &[], 0)
    }

    /// Adds a request of a trace and returns its id.
    ///
    /// `ids` identify the first tokens of the prompt, `tokens_per_id` tokens each, for the prefix cache. They
    /// are used for a request with [`Content::TraceBlocks`](crate::sim::Content::TraceBlocks), up to its
    /// `count`; its `first` is ignored.
    ///
    /// # Errors
    /// As [`push`](Server::push).
    pub fn push_with_ids(
        &mut self,
        request: Request,
        ids: &[u64],
        tokens_per_id: u32,
    ) -> Result<RequestId, ServerError> {
        let arrival_ns = request.arrival_ns;
        if arrival_ns < self.now_ns {
            let now_ns = self.now_ns;
            return Err(ServerError::ArrivalBeforeNow { arrival_ns, now_ns });
        }
        self.config.check(&request).map_err(ServerError::NeverServed)?;
        let id = RequestId(self.pushed);
        self.pushed += 1;
        self.expect(id.0, request, (ids, tokens_per_id));
        Ok(id)
    }

    /// Returns the time to advance to next, in nanoseconds; `None` if the server is idle.
    ///
    /// The next event is the end of the step in flight, or else the time when the engine sees the next request. If a
    /// step can begin now, the next event is one nanosecond from now: the step has begun then, and its end is known.
    pub fn next_event_ns(&self) -> Option<u64> {
        if let Some(step) = &self.in_flight {
            return Some(step.end_ns);
        }
        let begins_ns = self.begins_ns()?;
        Some(begins_ns.max(self.now_ns.saturating_add(1)))
    }

    /// Moves the clock to `to_ns` and runs all steps that begin before (see [Time](Server#time)).
    ///
    /// A step that ends later stays in flight; its results are visible once it has ended.
    ///
    /// # Errors
    /// [`ServerError::TimeBackwards`] for a time before [`now_ns`](Server::now_ns); the server is unchanged.
    /// [`ServerError::StepTime`] for a step that the clock cannot hold; the clock stands at its start, and each later
    /// call returns the error again.
    pub fn advance_to(&mut self, to_ns: u64) -> Result<(), ServerError> {
        self.advance_observed(to_ns, &mut ())
    }

    /// Does the same as [`advance_to`](Server::advance_to), and calls `observer`.
    ///
    /// The observer is called first with the steps, then with the requests that have finished, both in order;
    /// requests are identified by [`RequestId::index`]. The events are kept as well: drain them.
    ///
    /// # Errors
    /// As [`advance_to`](Server::advance_to).
    pub fn advance_observed<O: Observer + ?Sized>(&mut self, to_ns: u64, observer: &mut O) -> Result<(), ServerError> {
        if to_ns < self.now_ns {
            let now_ns = self.now_ns;
            return Err(ServerError::TimeBackwards { to_ns, now_ns });
        }
        let known = self.events.len();
        let ran = self.run_to(to_ns, observer);
        if ran.is_ok() {
            self.now_ns = to_ns;
        }
        for event in self.events.iter().skip(known) {
            if let ServerEvent::Finished { id, record, .. } = event {
                observer.finished(id.0, record);
            }
        }
        observer.progress(&self.progress(None));
        Ok(ran?)
    }

    /// Runs until the server is idle; the clock stands at the end of the last step.
    ///
    /// # Errors
    /// A step that the clock cannot hold; the clock stands at its start, and each later call returns the error again.
    pub fn run_until_idle(&mut self) -> Result<(), StepTimeError> {
        self.run_to(u64::MAX, &mut ())
    }

    /// Runs one step to its end and returns its outcome; `None` if the server is idle.
    ///
    /// If a step is in flight, this is the one. A server without work first waits for its next request. The events of
    /// the step are part of the outcome and are not drained again. Costs O(running requests), and O(n²) in the number
    /// of requests whose only token comes from the same step.
    ///
    /// # Errors
    /// As [`run_until_idle`](Server::run_until_idle).
    ///
    /// ```
    /// # use rooflut::sim::{Server, StepTimeError};
    /// # use rooflut::step::LatencyModel;
    /// # fn example<M: LatencyModel>(mut server: Server<M>) -> Result<(), StepTimeError> {
    /// while let Some(step) = server.step()? {
    ///     println!("{} ns, {} tokens", step.record.duration_ns, step.batch.tokens());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn step(&mut self) -> Result<Option<StepOutcome<'_>>, StepTimeError> {
        let known = self.events.len();
        let Some(record) = self.run_detailed_step()? else {
            return Ok(None);
        };
        self.buffers.events.clear();
        self.buffers.events.extend(self.events.drain(known..));
        Ok(Some(StepOutcome {
            record,
            batch: self.current.batch(),
            tokens: &self.buffers.tokens,
            preempted: &self.buffers.preempted,
            events: &self.buffers.events,
        }))
    }

    /// Removes and returns the events since the last call, in order.
    pub fn drain_events(&mut self) -> impl Iterator<Item = ServerEvent> + '_ {
        self.events.drain(..)
    }

    /// Returns the current time, in nanoseconds from the start.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the configuration.
    pub fn config(&self) -> &SimConfig {
        &self.config
    }

    /// Returns the latency model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Returns the number of requests that the engine has not seen yet: requests that arrive later, and requests that
    /// have arrived since the last step began.
    pub fn arriving(&self) -> usize {
        self.inbox.len()
    }

    /// Returns the number of requests in the queue of the engine.
    pub fn waiting(&self) -> usize {
        self.scheduler.waiting()
    }

    /// Returns the number of requests that hold a sequence slot.
    pub fn running(&self) -> usize {
        self.scheduler.running()
    }

    /// Returns the tokens of prompt and output of all pushed requests that have not finished.
    pub fn outstanding_tokens(&self) -> u64 {
        self.queued_tokens + self.inbox.tokens()
    }

    /// Returns the number of KV blocks in use.
    pub fn kv_blocks_used(&self) -> u32 {
        self.scheduler.kv().used()
    }

    /// Returns the number of KV blocks of the server.
    pub fn kv_blocks(&self) -> u32 {
        self.scheduler.kv().blocks()
    }

    /// Returns whether a step is in flight.
    pub fn is_in_step(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Returns whether all pushed requests have finished.
    pub fn is_idle(&self) -> bool {
        self.next_event_ns().is_none()
    }

    /// Returns the counts of all steps that have ended; the prefix hit rate is `cache_hits` over
    /// `cache_lookups`.
    pub fn totals(&self) -> Totals {
        let kv = self.scheduler.kv();
        let cache = kv.counts();
        Totals {
            replicas: 1,
            cache_lookups: cache.lookups,
            cache_hits: cache.hits,
            cache_evictions: cache.evictions,
            kv_blocks: kv.blocks(),
            peak_kv_blocks: kv.peak_used(),
            ..self.totals
        }
    }
}

impl<M> Server<M> {
    /// Creates a server with a valid configuration and its index among the replicas of a run.
    pub(super) fn new(model: M, config: SimConfig, replica: u32) -> Server<M> {
        Server {
            model,
            config,
            replica,
            now_ns: 0,
            wakes_ns: 0,
            scheduler: Scheduler::new(config),
            totals: Totals::default(),
            interrupted: Interrupted::default(),
            current: Box::new(Plan::new()),
            next: Box::new(Plan::new()),
            in_flight: None,
            failed: None,
            pipeline: Pipeline::default(),
            inbox: Inbox::new(&config),
            cancelled: BTreeSet::new(),
            pushed: 0,
            queued_tokens: 0,
            events: Vec::new(),
            buffers: StepBuffers::default(),
        }
    }

    /// Adds a request under the caller's `index`, unchecked: the engine checks it when it sees it.
    pub(super) fn expect(&mut self, index: usize, request: Request, trace_ids: (&[u64], u32)) {
        self.inbox.push(Arrived::new(index, request, trace_ids));
    }

    /// Returns how many tokens of a prompt with these `ids` are in the prefix cache.
    pub(super) fn cached_tokens(&self, ids: &BlockIds<'_>, prompt_tokens: u32) -> u32 {
        self.scheduler.cached_tokens(ids, prompt_tokens)
    }

    /// Returns when the engine sees the next request of the inbox; `None` if there is none.
    pub(super) fn next_at_engine_ns(&self) -> Option<u64> {
        self.inbox.next_ns()
    }
}
