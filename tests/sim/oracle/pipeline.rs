//! A straightforward engine with pipeline stages: `step_with_batch_queue` of vLLM, line by line.

use std::collections::VecDeque;

use super::plan::Plan;
use super::scheduler::Scheduler;
use super::{Arrivals, Cancel, Run, Sequence};
use rooflut::sim::{Request, SimConfig};
use rooflut::step::LatencyModel;

/// A scheduled batch; one without work is in the queue as well.
struct Batch {
    plan: Plan,
    start_ns: u64,
    end_ns: u64,
}

/// Serves `requests` from an empty server until all are done.
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
    let mut queue: VecDeque<Batch> = VecDeque::new();
    let mut stages_ns: Vec<u64> = Vec::new();
    let (mut now_ns, mut ended_ns) = (0, 0);
    loop {
        let next_arrival_ns = arrivals.take(&mut run, &mut scheduler, now_ns, comes);
        let has_requests = |scheduler: &Scheduler| scheduler.has_requests() || scheduler.queued() > 0;
        let is_busy = |queue: &VecDeque<Batch>| queue.iter().any(|batch| !batch.plan.is_empty());
        if !has_requests(&scheduler) && !is_busy(&queue) {
            // Batches without work, after which a request was cancelled.
            queue.clear();
            match next_arrival_ns {
                Some(arrival_ns) => now_ns = arrival_ns,
                None => break,
            }
            continue;
        }
        // Without requests it waits for the chunks of those that were abandoned.
        let mut executed = false;
        if has_requests(&scheduler) {
            let mut plan = Plan::default();
            scheduler.plan(&mut plan);
            run.scheduled(&plan, now_ns);
            executed = !plan.is_empty();
            if !executed && queue.is_empty() {
                assert!(!plan.preempted.is_empty(), "nothing to wait for");
                now_ns += config.rules.empty_schedule_sleep_ns;
                continue;
            }
            let mut end_ns = now_ns;
            if executed {
                let mut times_ns = Vec::new();
                model.pipeline_times(&plan.batch(), &mut |time| times_ns.push(time.to_nanos()));
                stages_ns.resize(times_ns.len(), 0);
                for (free_ns, time_ns) in stages_ns.iter_mut().zip(times_ns) {
                    end_ns = end_ns.max(*free_ns) + time_ns;
                    *free_ns = end_ns;
                }
                end_ns = end_ns.max(now_ns + 1);
            }
            queue.push_back(Batch { plan, start_ns: now_ns, end_ns });
            if executed && queue.len() < config.pipeline_parallel_size as usize {
                continue;
            }
        }
        let Batch { plan, start_ns, end_ns } = queue.pop_front().unwrap();
        if !plan.is_empty() {
            // It may have ended while the engine slept.
            now_ns = now_ns.max(end_ns);
            let duration_ns = now_ns - start_ns.max(ended_ns);
            ended_ns = now_ns;
            run.steps += 1;
            run.waiting.push(scheduler.queued());
            run.block_ns += u128::from(duration_ns) * u128::from(scheduler.kv.used());
            run.ended(&plan, now_ns, &config);
            scheduler.retire(&plan);
        }
        if !has_requests(&scheduler) && !is_busy(&queue) {
            // vLLM has taken what is left before the next request comes.
            queue.clear();
        } else if !executed && has_requests(&scheduler) {
            now_ns += config.rules.empty_schedule_sleep_ns;
        }
    }
    run.peak_blocks = scheduler.kv.peak_used();
    run
}
