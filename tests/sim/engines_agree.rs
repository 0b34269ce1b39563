//! The engine whose steps cost the same whatever the batch, against the straightforward one: the same
//! nanoseconds, the same batches, on random workloads.

use crate::oracle::{self, kv_cache::LISTED_TOKENS};
use crate::support::{Linear, Seen, simulator};
use crate::workloads::{IDS, requests, servers};
use proptest::prelude::*;
use rooflut::engine::{FreedBlocks, Scheduling, VictimIndex, stacks};
use rooflut::model::Span;
use rooflut::sim::figures::Totals;
use rooflut::sim::load::RequestList;
use rooflut::sim::{Content, Outcome, Rejection, Request, SchedulingPolicy, SimConfig, Speculation};

fn compare(config: SimConfig, requests: &[Request], ids: &[u64]) {
    let (model, naive) = (Linear::mixed(), Linear::mixed());
    let mut seen = Seen::default();
    let mut source = RequestList::new(requests).with_ids(ids, LISTED_TOKENS);
    let totals = simulator(&model, config).serve(&mut source, &mut seen).unwrap();
    let expected = oracle::run(&naive, config, requests, ids, |sequence| sequence, &[]);
    assert_same(expected, &seen, &totals, &config);
    assert_eq!(model.batches.into_inner(), naive.batches.into_inner());
}

/// Asserts that a simulator did what the straightforward engine did.
pub(crate) fn assert_same(mut expected: oracle::Run, seen: &Seen, totals: &Totals, config: &SimConfig) {
    let mut gaps_ns = seen.gaps_ns.clone();
    gaps_ns.sort_unstable();
    expected.gaps_ns.sort_unstable();
    assert_eq!(gaps_ns, expected.gaps_ns);
    let outcomes = seen.outcomes(expected.outcomes.len());
    assert_eq!(outcomes, expected.outcomes);
    assert_eq!(totals.steps, expected.steps);
    assert_eq!(totals.preemptions, expected.preemptions);
    let preempted: u64 = seen.steps.iter().map(|step| u64::from(step.preempted)).sum();
    // No step may follow the preemption of a request that is aborted.
    let is_aborted =
        |outcome: &&Outcome| matches!(outcome, Outcome::Rejected(Rejection::Abandoned { .. } | Rejection::Cancelled));
    let aborted = expected.outcomes.iter().filter(is_aborted).count() as u64;
    assert!((preempted..=preempted + aborted).contains(&totals.preemptions));
    if config.kv_groups.limited == 0 {
        assert_eq!(totals.peak_kv_blocks, expected.peak_blocks);
    }
    let waiting: Vec<u32> = seen.steps.iter().map(|step| step.waiting).collect();
    assert_eq!(waiting, expected.waiting);
    assert_eq!(totals.block_ns, expected.block_ns);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_engines_agree_to_the_nanosecond(config in servers(), requests in requests()) {
        compare(config, &requests, &IDS);
    }
}

#[test]
fn a_preemption_storm_is_the_same_storm() {
    // Forty requests that fit one by one and grow until there is room for three.
    let requests: Vec<Request> =
        (0..40).map(|index| Request::new(20 + (index as u32 * 7) % 30, 200).at_ns(index * 100)).collect();
    for scheduling in [Scheduling::Synchronous, Scheduling::OneStepAhead] {
        let mut config = SimConfig::new(280, 45);
        config.rules.scheduling = scheduling;
        compare(config, &requests, &[]);
        let model = Linear::mixed();
        assert!(simulator(&model, config).run(&requests).unwrap().summary.preemptions > 30);
    }
}

#[test]
fn tokens_beyond_the_end_of_a_request_are_not_yielded() {
    let request = Request::new(20, 4);
    let mut config = SimConfig::new(280, 100);
    config.rules.scheduling = Scheduling::Synchronous;
    config.speculation = Speculation::try_new(8, 1.0, 0).ok();
    let model = Linear::mixed();
    let requests = [request; 5];
    let summary = simulator(&model, config).run(&requests).unwrap().summary;
    let drafts = summary.drafts.unwrap();
    // A token of the prompt's step, and three of one verification, though nine were there.
    assert_eq!((drafts.verifications, drafts.yielded_tokens), (5, 15));
    assert_eq!((drafts.drafted_tokens, drafts.accepted_tokens), (40, 40));
    compare(config, &requests, &[]);
}

#[test]
fn a_session_finds_its_earlier_turns_and_loses_them_to_others() {
    let turn = |arrival_ns, prompt_tokens, own| {
        Request::new(prompt_tokens, 20).at_ns(arrival_ns).with_content(Content::Texts {
            prefix: 1,
            prefix_tokens: 64,
            own,
        })
    };
    let second_chunk = |blocks: u32, requests: &[Request]| {
        let mut config = SimConfig::new(280, blocks);
        config.max_num_batched_tokens = 256;
        let model = Linear::mixed();
        simulator(&model, config).run(requests).unwrap();
        compare(config, requests, &[]);
        let batches = model.batches.into_inner();
        let mut chunks = batches.iter().flat_map(|batch| &batch.prefill);
        chunks.next_back().map(|chunk| (chunk.new_tokens(), chunk.context())).unwrap()
    };
    // 100 prompt and 20 output tokens of the first turn are 120, of which 119 were computed: 7 blocks.
    let turns = [turn(0, 100, 5), turn(10_000_000, 150, 5)];
    assert_eq!(second_chunk(100, &turns), (150 - 7 * 16, 7 * 16));
    // Another session has the system prompt only.
    let others = [turn(0, 100, 5), turn(10_000_000, 150, 6)];
    assert_eq!(second_chunk(100, &others), (150 - 64, 64));
    // In between somebody needs 17 blocks; the beginning of a request is lost last.
    let between = Request::new(250, 20).at_ns(5_000_000);
    let evicted = [turns[0], between, turns[1]];
    assert_eq!(second_chunk(18, &evicted), (150 - 16, 16));
    assert_eq!(second_chunk(17, &evicted), (150, 0));
}

#[test]
fn a_request_preempted_with_tokens_finds_the_block_behind_its_window() {
    let mut config = SimConfig::new(280, 81);
    config.max_num_seqs = 19;
    config.max_num_batched_tokens = 23;
    config.kv_groups.full = 2;
    config.kv_groups.limited = 1;
    config.kv_groups.span = Span::Window(35);
    config.policy = SchedulingPolicy::Priority;
    config.api_server_ns = 700;
    config.api_token_ns = 11;
    config.rules = stacks::VLLM_0_15_1.rules;
    config.rules.scheduling = Scheduling::Synchronous;
    config.rules.freed_blocks = FreedBlocks::UncachedFirst;
    config.rules.victim_index = VictimIndex::Stays;
    let listed = Content::TraceBlocks { first: 0, count: 1 };
    let cached = |prompt_tokens, output_tokens, cached_tokens| {
        Request::new(prompt_tokens, output_tokens).with_cached_prompt_tokens(cached_tokens)
    };
    // The third one is preempted twice: while it waits for its turn, and after it has its token.
    let requests = [
        Request::new(173, 29),
        Request::new(73, 28).at_ns(1_445),
        cached(80, 89, 16).at_ns(1_445).with_priority(2),
        Request::new(93, 60).at_ns(1_445),
        Request::new(22, 36).at_ns(58_918).with_content(listed),
        cached(52, 30, 48).at_ns(96_277),
        Request::new(88, 26).at_ns(96_277).with_content(listed),
        Request::new(128, 18).at_ns(96_277).with_priority(1),
        cached(25, 25, 16).at_ns(96_277),
    ];
    compare(config, &requests, &IDS);
    let model = Linear::mixed();
    let run = simulator(&model, config).run(&requests).unwrap();
    assert_eq!(run.summary.preemptions, 2);
}
