//! The straightforward engine: it walks over every running request in every step. What the real one
//! answers without that, to the nanosecond.

pub(crate) mod engines;
pub(crate) mod fleet;
pub(crate) mod kv_cache;
pub(crate) mod lockstep;
pub(crate) mod pipeline;
mod plan;
mod scheduler;
mod sequence;

use std::collections::VecDeque;

use rooflut::engine::Scheduling;
use rooflut::sim::{Outcome, Rejection, Request, SimConfig, Timing};
use rooflut::step::LatencyModel;

use plan::Plan;
use scheduler::Scheduler;
pub(crate) use sequence::Sequence;

/// The results of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) steps: u64,
    pub(crate) preemptions: u64,
    pub(crate) peak_blocks: u32,
    /// Sum over the steps of held blocks times nanoseconds.
    pub(crate) block_ns: u128,
    /// Requests in the queue during each step.
    pub(crate) waiting: Vec<u32>,
    /// All gaps between consecutive tokens of a request, nanoseconds.
    pub(crate) gaps_ns: Vec<u64>,
    /// When each request got its last token.
    last_token_ns: Vec<Option<u64>>,
}

/// A request that is cancelled, and when.
pub(crate) type Cancel = (u64, usize);

/// Serves `requests` from an empty server until all are done; `comes` sets the state in which each reaches the engine.
pub(crate) fn run(
    model: &impl LatencyModel,
    config: SimConfig,
    requests: &[Request],
    listed: &[u64],
    comes: fn(Sequence) -> Sequence,
    cancels: &[Cancel],
) -> Run {
    let mut run = Run::of(requests);
    let mut arrivals = Arrivals::of(requests, config, cancels, &mut run);
    let mut scheduler = Scheduler::new(config, listed.to_vec());
    let (mut current, mut next) = (Plan::default(), Plan::default());
    let mut now_ns = 0;
    let mut take_arrivals =
        |run: &mut Run, scheduler: &mut Scheduler, now_ns| arrivals.take(run, scheduler, now_ns, comes);
    loop {
        let mut next_arrival_ns = take_arrivals(&mut run, &mut scheduler, now_ns);
        while next.is_empty() {
            scheduler.plan(&mut next);
            run.scheduled(&next, now_ns);
            if next.is_empty() {
                // A request that preempts itself can end the schedule before anything is computed.
                if !next.preempted.is_empty() {
                    now_ns += config.rules.empty_schedule_sleep_ns;
                } else if let Some(arrival_ns) = next_arrival_ns {
                    now_ns = arrival_ns;
                } else {
                    run.peak_blocks = scheduler.kv.peak_used();
                    return run;
                }
                next_arrival_ns = take_arrivals(&mut run, &mut scheduler, now_ns);
            }
        }
        std::mem::swap(&mut current, &mut next);
        match config.rules.scheduling {
            Scheduling::Synchronous => next = Plan::default(),
            Scheduling::OneStepAhead => {
                scheduler.plan(&mut next);
                run.scheduled(&next, now_ns);
            }
            other => panic!("{other:?}"),
        }
        let duration_ns = model.total_time(&current.batch()).to_nanos().max(1);
        now_ns += duration_ns;
        run.steps += 1;
        run.waiting.push(scheduler.queued());
        run.block_ns += u128::from(duration_ns) * u128::from(scheduler.kv.used());
        run.ended(&current, now_ns, &config);
        scheduler.retire(&current);
        // The schedule ahead had no work: the engine sleeps if it has requests all the same.
        let ahead = config.rules.scheduling == Scheduling::OneStepAhead;
        if ahead && next.is_empty() && scheduler.has_requests() {
            now_ns += config.rules.empty_schedule_sleep_ns;
        }
    }
}

/// Requests that have not reached the engine.
struct Arrivals<'r> {
    requests: &'r [Request],
    config: SimConfig,
    /// When they do, and which they are.
    order: VecDeque<(u64, usize)>,
    /// Requests that are still to be cancelled after their arrival.
    cancels: Vec<Cancel>,
}

impl Arrivals<'_> {
    /// Aborts the requests that were cancelled by now; the engine has not seen those that remain.
    fn cancel(&mut self, run: &mut Run, scheduler: &mut Scheduler, now_ns: u64) {
        for (_, index) in self.cancels.extract_if(.., |(at_ns, _)| *at_ns <= now_ns).collect::<Vec<_>>() {
            if scheduler.cancel(index) {
                run.outcomes[index] = Outcome::Rejected(Rejection::Cancelled);
            } else if self.order.iter().any(|(_, of)| *of == index) {
                self.cancels.push((now_ns, index));
            }
        }
    }

    fn of<'r>(requests: &'r [Request], config: SimConfig, cancels: &[Cancel], run: &mut Run) -> Arrivals<'r> {
        // Requests that are cancelled before they arrive never do.
        let never =
            |index: usize| cancels.iter().any(|(at_ns, of)| *of == index && requests[index].arrival_ns > *at_ns);
        for index in (0..requests.len()).filter(|index| never(*index)) {
            run.outcomes[index] = Outcome::Rejected(Rejection::Cancelled);
        }
        let mut order: Vec<(u64, usize)> =
            (requests.iter().enumerate()).map(|(index, request)| (request.arrival_ns, index)).collect();
        order.retain(|(_, index)| !never(*index));
        order.sort_unstable();
        let mut tokenized_ns = 0;
        for (at_engine_ns, index) in &mut order {
            let tokens = u64::from(requests[*index].prompt_tokens);
            tokenized_ns = tokenized_ns.max(*at_engine_ns) + tokens * config.api_token_ns;
            *at_engine_ns = tokenized_ns + config.api_server_ns;
        }
        let cancels = cancels.iter().copied().filter(|(_, index)| !never(*index)).collect();
        Arrivals { requests, config, order: order.into(), cancels }
    }

    /// Enqueues or rejects what has arrived; returns the time of the next arrival.
    fn take(
        &mut self,
        run: &mut Run,
        scheduler: &mut Scheduler,
        now_ns: u64,
        comes: fn(Sequence) -> Sequence,
    ) -> Option<u64> {
        self.cancel(run, scheduler, now_ns);
        let Arrivals { requests, config, .. } = *self;
        run.abort(scheduler, now_ns, &config);
        while let Some(&(at_engine_ns, index)) = self.order.front() {
            if at_engine_ns > now_ns {
                return Some(at_engine_ns);
            }
            self.order.pop_front();
            if let Some(place) = self.cancels.iter().position(|(at_ns, of)| *of == index && *at_ns <= now_ns) {
                self.cancels.remove(place);
                run.outcomes[index] = Outcome::Rejected(Rejection::Cancelled);
                continue;
            }
            let request = &requests[index];
            let times_ns = (at_engine_ns, now_ns);
            if let Some(sequence) = run.admit(index, request, times_ns, scheduler, config) {
                scheduler.enqueue(comes(sequence));
            }
        }
        None
    }
}

impl Run {
    /// A run in which nothing has happened.
    fn of(requests: &[Request]) -> Run {
        Run {
            outcomes: vec![Outcome::Completed(Timing::default()); requests.len()],
            steps: 0,
            preemptions: 0,
            peak_blocks: 0,
            block_ns: 0,
            waiting: Vec::new(),
            gaps_ns: Vec::new(),
            last_token_ns: vec![None; requests.len()],
        }
    }

    /// Aborts the requests whose clients have given up by `now_ns`; returns which.
    fn abort(&mut self, scheduler: &mut Scheduler, now_ns: u64, config: &SimConfig) -> Vec<usize> {
        let Some(patience_ns) = config.patience_ns.filter(|patience_ns| *patience_ns <= now_ns) else {
            return Vec::new();
        };
        let aborted = scheduler.abort(now_ns - patience_ns);
        for &index in &aborted {
            self.outcomes[index] = Outcome::Rejected(Rejection::Abandoned { patience_ns });
        }
        aborted
    }

    /// Returns the state of a request that has reached the engine, where it is received now, or rejects it.
    fn admit(
        &mut self,
        index: usize,
        request: &Request,
        (at_engine_ns, now_ns): (u64, u64),
        scheduler: &Scheduler,
        config: SimConfig,
    ) -> Option<Sequence> {
        let abandoned = config
            .patience_ns
            .filter(|patience_ns| request.arrival_ns + patience_ns <= now_ns)
            .map(|patience_ns| Rejection::Abandoned { patience_ns });
        let full = config
            .max_waiting
            .filter(|most| scheduler.waiting.len() >= *most as usize)
            .map(|max_waiting| Rejection::QueueFull { max_waiting });
        if let Some(reason) = config.check(request).err().or(abandoned).or(full) {
            self.outcomes[index] = Outcome::Rejected(reason);
            return None;
        }
        self.timing(index).at_engine_ns = at_engine_ns;
        let mut served = *request;
        let room = config.max_model_len - request.prompt_tokens;
        served.output_tokens = request.output_tokens.min(room);
        Some(Sequence::new(index, &served, config))
    }

    /// Notes the tokens of a step that has ended.
    fn ended(&mut self, plan: &Plan, now_ns: u64, config: &SimConfig) {
        // Steps that were fixed before a request was cancelled compute its tokens in vain.
        let served: Vec<bool> = self.outcomes.iter().map(|of| matches!(of, Outcome::Completed(_))).collect();
        let served = |indices: &[usize]| -> Vec<usize> { indices.iter().copied().filter(|of| served[*of]).collect() };
        let tokens = served(&plan.tokens);
        for &index in &tokens {
            let last_ns = self.last_token_ns[index].replace(now_ns);
            self.gaps_ns.extend(last_ns.map(|last_ns| now_ns - last_ns));
        }
        for index in served(&plan.first_tokens) {
            let timing = self.timing(index);
            timing.first_token_ns = now_ns;
            timing.api_output_ns = tokens.len() as u64 * config.api_output_ns;
        }
        for index in served(&plan.finished) {
            self.timing(index).finish_ns = now_ns;
        }
    }

    fn timing(&mut self, index: usize) -> &mut Timing {
        match &mut self.outcomes[index] {
            Outcome::Completed(timing) => timing,
            rejected => panic!("{rejected:?}"),
        }
    }

    fn scheduled(&mut self, plan: &Plan, now_ns: u64) {
        for &(index, cached_tokens) in &plan.admitted {
            let timing = self.timing(index);
            if timing.preemptions == 0 {
                timing.scheduled_ns = now_ns;
                timing.cached_tokens = cached_tokens;
            }
        }
        for &index in &plan.preempted {
            self.preemptions += 1;
            self.timing(index).preemptions += 1;
        }
    }
}
