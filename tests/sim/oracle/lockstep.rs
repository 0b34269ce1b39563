//! Data-parallel ranks, each a straightforward engine, that step together.

use std::collections::VecDeque;

use super::Run;
use super::plan::Plan;
use super::scheduler::Scheduler;
use rooflut::engine::Scheduling;
use rooflut::sim::{Request, SimConfig};
use rooflut::step::LatencyModel;

struct Rank {
    scheduler: Scheduler,
    current: Plan,
    next: Plan,
    arriving: VecDeque<usize>,
    /// When the API server has tokenized the last prompt that the engine sees.
    tokenized_ns: u64,
}

impl Rank {
    /// Returns when the engine sees the next request of the rank, whose prompt is tokenized after those before it.
    fn next_at_engine_ns(&self, config: &SimConfig, requests: &[Request]) -> Option<u64> {
        let request = &requests[*self.arriving.front()?];
        let begins_ns = request.arrival_ns.max(self.tokenized_ns);
        let tokenized_ns = begins_ns + u64::from(request.prompt_tokens) * config.api_token_ns;
        Some(tokenized_ns + config.api_server_ns)
    }
}

/// Serves `requests` from empty ranks until all are done; does not count what waits or is held.
pub(crate) fn run(
    model: &impl LatencyModel,
    config: SimConfig,
    ranks: u32,
    requests: &[Request],
    listed: &[u64],
) -> Run {
    let mut order: Vec<(u64, usize)> = (requests.iter().enumerate())
        .map(|(index, request)| (request.arrival_ns + config.api_server_ns, index))
        .collect();
    order.sort_unstable();
    let mut arrivals = order.into_iter().peekable();
    let mut run = Run::of(requests);
    let rank = |_| Rank {
        scheduler: Scheduler::new(config, listed.to_vec()),
        current: Plan::default(),
        next: Plan::default(),
        arriving: VecDeque::new(),
        tokenized_ns: 0,
    };
    let mut ranks: Vec<Rank> = (0..ranks).map(rank).collect();
    let mut now_ns = 0;
    let ahead = config.rules.scheduling == Scheduling::OneStepAhead;
    loop {
        while let Some(arrival) = arrivals.next_if(|&(arrival_ns, _)| arrival_ns <= now_ns) {
            let least = ranks.iter_mut().min_by_key(|rank| rank.scheduler.load(rank.arriving.len()));
            least.unwrap().arriving.push_back(arrival.1);
        }
        for (replica, rank) in ranks.iter_mut().enumerate() {
            run.abort(&mut rank.scheduler, now_ns, &config);
            while let Some(at_engine_ns) = rank.next_at_engine_ns(&config, requests)
                && at_engine_ns <= now_ns
                && let Some(index) = rank.arriving.pop_front()
            {
                rank.tokenized_ns = at_engine_ns - config.api_server_ns;
                let (request, scheduler) = (&requests[index], &rank.scheduler);
                let sequence = run.admit(index, request, (at_engine_ns, now_ns), scheduler, config);
                if let Some(sequence) = sequence {
                    run.timing(index).replica = replica as u32;
                    rank.scheduler.enqueue(sequence);
                }
            }
            if rank.next.is_empty() {
                rank.scheduler.plan(&mut rank.next);
                run.scheduled(&rank.next, now_ns);
            }
            rank.current = std::mem::take(&mut rank.next);
            if ahead && !rank.current.is_empty() {
                rank.scheduler.plan(&mut rank.next);
                run.scheduled(&rank.next, now_ns);
            }
        }
        if ranks.iter().all(|rank| rank.current.is_empty()) {
            if ranks.iter().any(|rank| rank.scheduler.has_requests()) {
                continue;
            }
            let expected = (ranks.iter()).filter_map(|rank| rank.next_at_engine_ns(&config, requests));
            let arrival_ns = arrivals.peek().map(|&(arrival_ns, _)| arrival_ns);
            match arrival_ns.into_iter().chain(expected).min() {
                Some(next_ns) => now_ns = next_ns,
                None => return run,
            }
            continue;
        }
        let time = model.lockstep_time(&mut ranks.iter().map(|rank| rank.current.batch()));
        now_ns += time.to_nanos().max(1);
        for rank in ranks.iter_mut().filter(|rank| !rank.current.is_empty()) {
            run.steps += 1;
            run.ended(&rank.current, now_ns, &config);
            rank.scheduler.retire(&rank.current);
        }
    }
}
