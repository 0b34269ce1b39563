//! Properties of every workload, on random ones.

use crate::support::{Batch, Linear, Seen, simulator};
use crate::workloads::{ascending, scheduling};
use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::sim::load::RequestList;
use rooflut::sim::{Outcome, Progress, Rejection, Request, SimConfig, SimReport};

const BLOCK: u32 = 16;

/// A run with everything that can be seen of it.
struct Run {
    report: SimReport,
    batches: Vec<Batch>,
    progress: Vec<Progress>,
}

fn run(config: SimConfig, requests: &[Request]) -> Run {
    let model = Linear::mixed();
    let mut log = Seen::default();
    let mut source = RequestList::new(requests);
    let report = simulator(&model, config).run_source(&mut source, &mut log).unwrap();
    Run { report, batches: model.batches.into_inner(), progress: log.progress }
}

/// Requests that all can be served by [`tight`] servers; arrivals ascend without a tie.
fn servable() -> impl Strategy<Value = Vec<Request>> {
    let request = (1..150_u32, 1..60_u32, 0..160_u32);
    ascending(1..6_000_u64, request, 1..25, |(prompt, output, cached)| {
        Request::new(prompt, output).with_cached_prompt_tokens(cached)
    })
}

/// Requests of any kind, in any order, many at the same time.
fn any_kind() -> impl Strategy<Value = Vec<Request>> {
    let request = (0..40_u64, 0..400_u32, 0..200_u32, 0..160_u32).prop_map(
        |(slot, prompt_tokens, output_tokens, cached_prompt_tokens)| {
            Request::new(prompt_tokens, output_tokens)
                .at_ns(slot * 1_000)
                .with_cached_prompt_tokens(cached_prompt_tokens)
        },
    );
    prop::collection::vec(request, 0..25)
}

/// Servers with few blocks, few slots and a small budget; at least 14 blocks, enough for the
/// longest of [`servable`] alone.
fn tight() -> impl Strategy<Value = SimConfig> {
    (14..40_u32, 1..9_u32, 0..100_u32, scheduling()).prop_map(|(kv_blocks, seqs, more, scheduling)| {
        let mut config = SimConfig::new(300, kv_blocks);
        config.max_num_seqs = seqs;
        config.max_num_batched_tokens = seqs + more;
        config.rules.scheduling = scheduling;
        config
    })
}

/// Tokens of `request` that no prefix hit saves.
fn uncached(request: &Request) -> u64 {
    let most = (request.prompt_tokens - 1) / BLOCK * BLOCK;
    let hit = request.cached_prompt_tokens / BLOCK * BLOCK;
    u64::from(request.prompt_tokens - hit.min(most))
}

fn sampled(batches: &[Batch]) -> u64 {
    let chunks = batches.iter().flat_map(|batch| &batch.prefill);
    chunks.map(|chunk| u64::from(chunk.is_last())).sum::<u64>() + decoded(batches)
}

fn decoded(batches: &[Batch]) -> u64 {
    let groups = batches.iter().flat_map(|batch| &batch.decode);
    groups.map(|group| u64::from(group.requests())).sum()
}

fn prefilled(batches: &[Batch]) -> u64 {
    let chunks = batches.iter().flat_map(|batch| &batch.prefill);
    chunks.map(|chunk| u64::from(chunk.new_tokens())).sum()
}

proptest! {
    #[test]
    fn every_request_is_served_or_rejected_with_the_right_reason(
        requests in any_kind(),
        config in tight(),
    ) {
        let run = run(config, &requests);
        prop_assert_eq!(run.report.records.len(), requests.len());
        for (record, request) in run.report.records.iter().zip(&requests) {
            prop_assert_eq!(&record.request, request);
            let (prompt, output) = (request.prompt_tokens, request.output_tokens);
            let fits = prompt + output <= config.max_model_len
                && prompt + output <= config.kv_blocks * BLOCK + 1;
            match record.outcome {
                Outcome::Completed(timing) => {
                    prop_assert!(prompt > 0 && output > 0 && fits);
                    prop_assert!(request.arrival_ns <= timing.scheduled_ns);
                    prop_assert!(timing.scheduled_ns < timing.first_token_ns);
                    prop_assert_eq!(timing.first_token_ns < timing.finish_ns, output > 1);
                }
                Outcome::Rejected(Rejection::EmptyPrompt) => prop_assert_eq!(prompt, 0),
                Outcome::Rejected(Rejection::EmptyOutput) => prop_assert_eq!(output, 0),
                _ => prop_assert!(!fits),
            }
        }
        let summary = run.report.summary;
        prop_assert_eq!(summary.completed + summary.rejected, requests.len() as u64);
        let preemptions = run.report.records.iter().filter_map(|record| record.timing());
        let preemptions: u64 = preemptions.map(|timing| u64::from(timing.preemptions)).sum();
        prop_assert_eq!(summary.preemptions, preemptions);
        prop_assert_eq!(summary.steps, run.batches.len() as u64);
    }

    #[test]
    fn no_step_exceeds_its_limits(requests in any_kind(), config in tight()) {
        for batch in run(config, &requests).batches {
            let one = [batch.clone()];
            let tokens = prefilled(&one) + decoded(&one);
            prop_assert!(tokens > 0 && tokens <= u64::from(config.max_num_batched_tokens));
            let served = batch.prefill.len() as u64 + decoded(&one);
            prop_assert!(served <= u64::from(config.max_num_seqs));
            // A prompt is left unfinished only where the budget ends.
            let unfinished = batch.prefill.iter().position(|chunk| !chunk.is_last());
            if let Some(position) = unfinished {
                prop_assert_eq!(position, batch.prefill.len() - 1);
                prop_assert_eq!(tokens, u64::from(config.max_num_batched_tokens));
            }
        }
    }

    #[test]
    fn blocks_and_requests_are_conserved(requests in any_kind(), config in tight()) {
        let run = run(config, &requests);
        let mut now_ns = None;
        let (end, steps) = run.progress.split_last().unwrap();
        for state in steps {
            prop_assert!(state.kv_blocks_used <= config.kv_blocks);
            prop_assert!(state.running <= u64::from(config.max_num_seqs));
            // Each running request holds a block of its own: the last token is never cached.
            prop_assert!(u64::from(state.kv_blocks_used) >= state.running);
            let inside = state.running + state.waiting;
            prop_assert!(inside + state.completed + state.rejected <= state.total.unwrap());
            prop_assert!(Some(state.now_ns) > now_ns);
            now_ns = Some(state.now_ns);
        }
        prop_assert_eq!(Some(end.completed + end.rejected), end.total);
        prop_assert_eq!((end.running, end.waiting, end.kv_blocks_used), (0, 0, 0));
        prop_assert!(run.report.summary.kv.peak_blocks <= config.kv_blocks);
    }

    #[test]
    fn every_output_token_is_sampled_once_even_if_preempted(
        requests in servable(),
        config in tight(),
    ) {
        let run = run(config, &requests);
        let outputs: u64 = requests.iter().map(|r| u64::from(r.output_tokens)).sum();
        prop_assert_eq!(run.report.summary.completed, requests.len() as u64);
        prop_assert_eq!(sampled(&run.batches), outputs);
        // Recomputation only adds.
        prop_assert!(prefilled(&run.batches) >= requests.iter().map(uncached).sum::<u64>());
    }

    #[test]
    fn with_enough_blocks_nothing_is_preempted_and_every_token_is_computed_once(
        requests in servable(),
        mut config in tight(),
    ) {
        let blocks = |r: &Request| (r.prompt_tokens + r.output_tokens - 1).div_ceil(BLOCK);
        config.kv_blocks = requests.iter().map(blocks).sum::<u32>().max(14);
        let run = run(config, &requests);
        prop_assert_eq!(run.report.summary.preemptions, 0);
        prop_assert_eq!(prefilled(&run.batches), requests.iter().map(uncached).sum::<u64>());
        let decodes: u64 = requests.iter().map(|r| u64::from(r.output_tokens - 1)).sum();
        prop_assert_eq!(decoded(&run.batches), decodes);
    }

    #[test]
    fn the_order_of_the_list_does_not_matter(
        (requests, shuffled) in servable().prop_flat_map(|requests| {
            let indices: Vec<usize> = (0..requests.len()).collect();
            (Just(requests), Just(indices).prop_shuffle())
        }),
        config in tight(),
    ) {
        let list: Vec<Request> = shuffled.iter().map(|&index| requests[index]).collect();
        let (ordered, mixed) = (run(config, &requests).report, run(config, &list).report);
        for (record, &index) in mixed.records.iter().zip(&shuffled) {
            prop_assert_eq!(record, &ordered.records[index]);
        }
        prop_assert_eq!(ordered.summary, mixed.summary);
    }

    #[test]
    fn a_lone_request_takes_the_same_time_in_both_modes(
        requests in servable(),
        mut config in tight(),
    ) {
        config.rules.scheduling = Scheduling::Synchronous;
        let synchronous = run(config, &requests[..1]);
        config.rules.scheduling = Scheduling::OneStepAhead;
        let ahead = run(config, &requests[..1]);
        prop_assert_eq!(&synchronous.report.records, &ahead.report.records);
        prop_assert_eq!(&synchronous.batches, &ahead.batches);
        // One step ahead, blocks are taken one step earlier.
        let mean = |run: &Run| run.report.summary.kv.mean_blocks;
        prop_assert!(mean(&synchronous) <= mean(&ahead));
    }
}

#[test]
fn tight_servers_do_preempt() {
    // The properties above would say little if this did not happen.
    for scheduling in [Scheduling::Synchronous, Scheduling::OneStepAhead] {
        let mut config = SimConfig::new(300, 14);
        config.rules.scheduling = scheduling;
        let requests = [Request::new(30, 50); 12];
        let summary = run(config, &requests).report.summary;
        assert_eq!(summary.completed, 12);
        assert!(summary.preemptions >= 3, "{}", summary.preemptions);
    }
}
