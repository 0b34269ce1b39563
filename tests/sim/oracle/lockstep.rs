//! Data-parallel ranks, each a straightforward engine, that step together.

use std::collections::VecDeque;

use super::plan::Plan;
use super::scheduler::Scheduler;
use super::{Run, Sequence};
use rooflut::engine::Scheduling;
use rooflut::sim::{Outcome, Rejection, Request, SimConfig, Timing};
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

/// Serves `requests` from empty ranks until all are done; returns the outcomes and the number of steps.
pub(crate) fn run(
    model: &impl LatencyModel,
    config: SimConfig,
    ranks: u32,
    requests: &[Request],
    listed: &[u64],
) -> (Vec<Outcome>, u64) {
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
    let (mut now_ns, mut steps) = (0, 0);
    let ahead = config.rules.scheduling == Scheduling::OneStepAhead;
    loop {
        while let Some(arrival) = arrivals.next_if(|&(arrival_ns, _)| arrival_ns <= now_ns) {
            let least = ranks
                .iter_mut()
                .min_by_key(|rank| rank.scheduler.load(rank.arriving.len()));
            least.unwrap().arriving.push_back(arrival.1);
        }
        for (replica, rank) in ranks.iter_mut().enumerate() {
            while let Some(at_engine_ns) = rank.next_at_engine_ns(&config, requests)
                && at_engine_ns <= now_ns
                && let Some(index) = rank.arriving.pop_front()
            {
                rank.tokenized_ns = at_engine_ns - config.api_server_ns;
                let full = config
                    .max_waiting
                    .filter(|most| rank.scheduler.waiting.len() >= *most as usize);
                match (config.check(&requests[index]), full) {
                    (Ok(()), None) => {
                        let timing = run.timing(index);
                        timing.at_engine_ns = at_engine_ns;
                        timing.replica = replica as u32;
                        let mut request = requests[index];
                        let room = config.max_model_len - request.prompt_tokens;
                        request.output_tokens = request.output_tokens.min(room);
                        let sequence = Sequence::new(index, &request, config);
                        rank.scheduler.enqueue(sequence);
                    }
                    (Err(reason), _) => run.outcomes[index] = Outcome::Rejected(reason),
                    (Ok(()), Some(max_waiting)) => {
                        run.outcomes[index] =
                            Outcome::Rejected(Rejection::QueueFull { max_waiting });
                    }
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
            let expected =
                (ranks.iter()).filter_map(|rank| rank.next_at_engine_ns(&config, requests));
            let arrival_ns = arrivals.peek().map(|&(arrival_ns, _)| arrival_ns);
            match arrival_ns.into_iter().chain(expected).min() {
                Some(next_ns) => now_ns = next_ns,
                None => return (run.outcomes, steps),
            }
            continue;
        }
        let time = model.lockstep_time(&mut ranks.iter().map(|rank| rank.current.batch()));
        now_ns += time.to_nanos().max(1);
        for rank in ranks.iter_mut().filter(|rank| !rank.current.is_empty()) {
            steps += 1;
            for &index in &rank.current.first_tokens {
                let timing: &mut Timing = run.timing(index);
                timing.first_token_ns = now_ns;
                timing.api_output_ns = rank.current.tokens.len() as u64 * config.api_output_ns;
            }
            for &index in &rank.current.finished {
                run.timing(index).finish_ns = now_ns;
            }
            rank.scheduler.retire(&rank.current);
        }
    }
}
