//! Straightforward engines that run one step at a time: the servers of a fleet.

use std::collections::{BTreeSet, VecDeque};
use std::mem;

use super::Run;
use super::kv_cache::tokens;
use super::plan::Plan;
use super::scheduler::Scheduler;
use super::sequence::Sequence;
use rooflut::engine::Scheduling;
use rooflut::sim::{Request, SimConfig};
use rooflut::step::{LatencyModel, StepBatch};

/// Settings of all servers of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Kind<'m> {
    pub(crate) model: &'m dyn LatencyModel,
    pub(crate) config: SimConfig,
    pub(crate) replicas: u32,
    pub(crate) ranks: u32,
    /// The ids of a trace.
    pub(crate) listed: &'m [u64],
    /// Sets the state in which requests reach the engine.
    pub(crate) comes: fn(Sequence) -> Sequence,
}

/// A step: its replica, start and duration, requests that wait, blocks in use, chunks and their tokens, decoding
/// requests and their KV tokens.
pub(crate) type Step = (u32, u64, u64, u32, u32, usize, u64, u64, u64);

/// Events of a fleet.
pub(crate) struct Log {
    pub(crate) run: Run,
    pub(crate) steps: Vec<Step>,
    /// Requests that were served or rejected since it was last emptied, and when.
    pub(crate) done: Vec<(usize, u64)>,
    /// Requests that were aborted after they had reached the engine.
    pub(crate) aborted: BTreeSet<usize>,
}

impl Log {
    pub(crate) fn of(requests: usize) -> Log {
        Log {
            run: Run::of(&vec![Request::default(); requests]),
            steps: Vec::new(),
            done: Vec::new(),
            aborted: BTreeSet::new(),
        }
    }

    fn step(&mut self, replica: u32, start_ns: u64, duration_ns: u64, scheduler: &Scheduler, batch: &StepBatch<'_>) {
        let (waiting, used) = (scheduler.queued(), scheduler.kv.used());
        let prefill = (batch.prefill.len(), batch.prefill_tokens());
        let decode = (batch.decode_requests(), batch.decode_kv_tokens());
        self.steps.push((replica, start_ns, duration_ns, waiting, used, prefill.0, prefill.1, decode.0, decode.1));
    }

    fn ended(&mut self, plan: &Plan, now_ns: u64, config: &SimConfig) {
        self.run.ended(plan, now_ns, config);
        self.done.extend(plan.finished.iter().map(|index| (*index, now_ns)));
    }
}

/// One server, or several ranks, with requests of its own.
pub(crate) trait Engine {
    /// Adds a request, in the order of their arrival.
    fn push(&mut self, index: usize, request: Request);
    /// Returns when the next step begins.
    fn begins_ns(&self) -> Option<u64>;
    /// Runs what begins then.
    fn step(&mut self, log: &mut Log);
    /// Returns the schedulers, of which each rank has one.
    fn schedulers(&self) -> Vec<&Scheduler>;
}

/// Creates an empty server that begins at `now_ns`.
pub(crate) fn start<'m>(kind: Kind<'m>, first: u32, now_ns: u64) -> Box<dyn Engine + 'm> {
    let unit = |replica| Unit::new(kind, replica);
    if kind.ranks > 1 {
        let ranks = (first..first + kind.ranks).map(unit).collect();
        Box::new(Ranks { kind, ranks, arriving: VecDeque::new(), now_ns })
    } else if kind.config.pipeline_parallel_size > 1 {
        let (queue, stages_ns) = (VecDeque::new(), Vec::new());
        Box::new(Pipeline { kind, unit: unit(first), queue, stages_ns, now_ns })
    } else {
        Box::new(Server { kind, unit: unit(first), now_ns })
    }
}

/// Returns how many tokens of the prompt a server has in its cache.
pub(crate) fn cached(engine: &dyn Engine, kind: &Kind<'_>, index: usize, request: &Request) -> u32 {
    let block_size = kind.config.block_size;
    let blocks = request.prompt_tokens.saturating_sub(1) / block_size;
    let wanted = (1..=blocks).map(|block| tokens(request, index, kind.listed, block * block_size));
    let wanted: Vec<_> = wanted.collect();
    let drops = kind.config.rules.mtp_drops_block && kind.config.speculation.is_some_and(|of| of.is_mtp());
    let found = |scheduler: &&Scheduler| {
        let hits = scheduler.kv.hits(&wanted, 0)[0].len() as u32;
        hits.saturating_sub(u32::from(drops)) * block_size
    };
    engine.schedulers().iter().map(found).max().unwrap()
}

/// A scheduler, its next steps, and the requests that it has not seen.
struct Unit {
    replica: u32,
    scheduler: Scheduler,
    current: Plan,
    next: Plan,
    arriving: VecDeque<(usize, Request)>,
    /// When the API server has tokenized the last prompt that the engine has seen.
    tokenized_ns: u64,
}

impl Unit {
    fn new(kind: Kind<'_>, replica: u32) -> Unit {
        Unit {
            replica,
            scheduler: Scheduler::new(kind.config, kind.listed.to_vec()),
            current: Plan::default(),
            next: Plan::default(),
            arriving: VecDeque::new(),
            tokenized_ns: 0,
        }
    }

    /// Returns when the engine sees the next request.
    fn next_at_engine_ns(&self, config: &SimConfig) -> Option<u64> {
        let (_, request) = self.arriving.front()?;
        let begins_ns = request.arrival_ns.max(self.tokenized_ns);
        Some(begins_ns + u64::from(request.prompt_tokens) * config.api_token_ns + config.api_server_ns)
    }

    fn take_arrivals(&mut self, kind: Kind<'_>, now_ns: u64, log: &mut Log) {
        let aborted = log.run.abort(&mut self.scheduler, now_ns, &kind.config);
        log.done.extend(aborted.iter().map(|index| (*index, now_ns)));
        log.aborted.extend(aborted);
        while let Some(at_engine_ns) = self.next_at_engine_ns(&kind.config).filter(|ns| *ns <= now_ns) {
            let (index, request) = self.arriving.pop_front().unwrap();
            self.tokenized_ns = at_engine_ns - kind.config.api_server_ns;
            match log.run.admit(index, &request, (at_engine_ns, now_ns), &self.scheduler, kind.config) {
                Some(sequence) => {
                    log.run.timing(index).replica = self.replica;
                    self.scheduler.enqueue((kind.comes)(sequence));
                }
                None => log.done.push((index, now_ns)),
            }
        }
    }

    fn has_work(&self) -> bool {
        self.scheduler.has_requests() || !self.next.is_empty()
    }

    /// Fixes the current step, and the next one if it is fixed ahead; returns whether there is work.
    fn plan(&mut self, config: &SimConfig, now_ns: u64, log: &mut Log) -> bool {
        if self.next.is_empty() {
            self.scheduler.plan(&mut self.next);
            log.run.scheduled(&self.next, now_ns);
        }
        if self.next.is_empty() {
            return false;
        }
        self.current = mem::take(&mut self.next);
        if config.rules.scheduling == Scheduling::OneStepAhead {
            self.scheduler.plan(&mut self.next);
            log.run.scheduled(&self.next, now_ns);
        }
        true
    }

    fn end(&mut self, config: &SimConfig, start_ns: u64, now_ns: u64, log: &mut Log) {
        log.run.steps += 1;
        log.step(self.replica, start_ns, now_ns - start_ns, &self.scheduler, &self.current.batch());
        log.ended(&self.current, now_ns, config);
        self.scheduler.retire(&self.current);
        self.current = Plan::default();
    }
}

/// A server of one stage.
struct Server<'m> {
    kind: Kind<'m>,
    unit: Unit,
    now_ns: u64,
}

impl Engine for Server<'_> {
    fn push(&mut self, index: usize, request: Request) {
        self.unit.arriving.push_back((index, request));
    }

    fn begins_ns(&self) -> Option<u64> {
        if self.unit.has_work() {
            return Some(self.now_ns);
        }
        self.unit.next_at_engine_ns(&self.kind.config).map(|ns| ns.max(self.now_ns))
    }

    fn step(&mut self, log: &mut Log) {
        let Server { kind, unit, .. } = self;
        let (config, sleep_ns) = (&kind.config, kind.config.rules.empty_schedule_sleep_ns);
        self.now_ns =
            if unit.has_work() { self.now_ns } else { unit.next_at_engine_ns(config).unwrap().max(self.now_ns) };
        let start_ns = self.now_ns;
        unit.take_arrivals(*kind, start_ns, log);
        if !unit.plan(config, start_ns, log) {
            // A request that preempts itself can end the schedule before anything is computed.
            if !unit.next.preempted.is_empty() {
                self.now_ns += sleep_ns;
            }
            return;
        }
        self.now_ns += kind.model.total_time(&unit.current.batch()).to_nanos().max(1);
        unit.end(config, start_ns, self.now_ns, log);
        let ahead = config.rules.scheduling == Scheduling::OneStepAhead;
        if ahead && unit.next.is_empty() && unit.scheduler.has_requests() {
            self.now_ns += sleep_ns;
        }
    }

    fn schedulers(&self) -> Vec<&Scheduler> {
        vec![&self.unit.scheduler]
    }
}

/// Ranks that begin and end each step together.
struct Ranks<'m> {
    kind: Kind<'m>,
    ranks: Vec<Unit>,
    /// Requests that no rank has yet.
    arriving: VecDeque<(usize, Request)>,
    now_ns: u64,
}

impl Engine for Ranks<'_> {
    fn push(&mut self, index: usize, request: Request) {
        self.arriving.push_back((index, request));
    }

    fn begins_ns(&self) -> Option<u64> {
        if self.ranks.iter().any(Unit::has_work) {
            return Some(self.now_ns);
        }
        let config = &self.kind.config;
        let arriving = self.arriving.front().map(|(_, request)| request.arrival_ns + config.api_server_ns);
        let expected = self.ranks.iter().filter_map(|rank| rank.next_at_engine_ns(config));
        arriving.into_iter().chain(expected).min().map(|ns| ns.max(self.now_ns))
    }

    fn step(&mut self, log: &mut Log) {
        self.now_ns = self.begins_ns().unwrap();
        let Ranks { kind, ranks, arriving, now_ns } = self;
        let (config, start_ns) = (&kind.config, *now_ns);
        while arriving.front().is_some_and(|(_, request)| request.arrival_ns + config.api_server_ns <= start_ns) {
            let least = ranks.iter_mut().min_by_key(|rank| rank.scheduler.load(rank.arriving.len()));
            least.unwrap().arriving.extend(arriving.pop_front());
        }
        for rank in ranks.iter_mut() {
            rank.take_arrivals(*kind, start_ns, log);
            rank.plan(config, start_ns, log);
        }
        if ranks.iter().all(|rank| rank.current.is_empty()) {
            return;
        }
        let time = kind.model.lockstep_time(&mut ranks.iter().map(|rank| rank.current.batch()));
        *now_ns += time.to_nanos().max(1);
        for rank in ranks.iter_mut().filter(|rank| !rank.current.is_empty()) {
            rank.end(config, start_ns, *now_ns, log);
        }
    }

    fn schedulers(&self) -> Vec<&Scheduler> {
        self.ranks.iter().map(|rank| &rank.scheduler).collect()
    }
}

/// A server with pipeline stages: `step_with_batch_queue` of vLLM, up to the end of a batch or a pause.
struct Pipeline<'m> {
    kind: Kind<'m>,
    unit: Unit,
    /// Plans with their starts and ends; one without work is in the queue as well.
    queue: VecDeque<(Plan, u64, u64)>,
    stages_ns: Vec<u64>,
    now_ns: u64,
}

impl Pipeline<'_> {
    fn has_requests(&self) -> bool {
        self.unit.scheduler.has_requests() || self.unit.scheduler.queued() > 0
    }

    fn has_work(&self) -> bool {
        self.has_requests() || self.queue.iter().any(|(plan, ..)| !plan.is_empty())
    }

    /// Returns when a batch that enters the stages now has left them.
    fn leaves_ns(&mut self, plan: &Plan) -> u64 {
        let mut times_ns = Vec::new();
        self.kind.model.pipeline_times(&plan.batch(), &mut |time| times_ns.push(time.to_nanos()));
        self.stages_ns.resize(times_ns.len(), 0);
        let mut end_ns = self.now_ns;
        for (free_ns, time_ns) in self.stages_ns.iter_mut().zip(times_ns) {
            end_ns = end_ns.max(*free_ns) + time_ns;
            *free_ns = end_ns;
        }
        end_ns.max(self.now_ns + 1)
    }
}

impl Engine for Pipeline<'_> {
    fn push(&mut self, index: usize, request: Request) {
        self.unit.arriving.push_back((index, request));
    }

    fn begins_ns(&self) -> Option<u64> {
        if self.has_work() {
            return Some(self.now_ns);
        }
        self.unit.next_at_engine_ns(&self.kind.config).map(|ns| ns.max(self.now_ns))
    }

    fn step(&mut self, log: &mut Log) {
        self.now_ns = self.begins_ns().unwrap();
        let config = self.kind.config;
        loop {
            self.unit.take_arrivals(self.kind, self.now_ns, log);
            if !self.has_work() {
                return;
            }
            // Without requests it waits for the chunks of those that were abandoned.
            let mut executed = false;
            if self.has_requests() {
                let mut plan = Plan::default();
                self.unit.scheduler.plan(&mut plan);
                log.run.scheduled(&plan, self.now_ns);
                executed = !plan.is_empty();
                if !executed && self.queue.is_empty() {
                    self.now_ns += config.rules.empty_schedule_sleep_ns;
                    return;
                }
                let end_ns = if executed { self.leaves_ns(&plan) } else { self.now_ns };
                self.queue.push_back((plan, self.now_ns, end_ns));
                if executed && self.queue.len() < config.pipeline_parallel_size as usize {
                    continue;
                }
            }
            let (plan, start_ns, end_ns) = self.queue.pop_front().unwrap();
            let ends = !plan.is_empty();
            if ends {
                // It may have ended while the engine slept.
                self.now_ns = self.now_ns.max(end_ns);
                self.unit.current = plan;
                self.unit.end(&config, start_ns, self.now_ns, log);
            }
            if !self.has_work() {
                self.queue.clear();
            } else if !executed && self.has_requests() {
                self.now_ns += config.rules.empty_schedule_sleep_ns;
            }
            if ends || !executed {
                return;
            }
        }
    }

    fn schedulers(&self) -> Vec<&Scheduler> {
        vec![&self.unit.scheduler]
    }
}
