//! The engine whose steps cost the same whatever the batch, against the straightforward one: the same
//! nanoseconds, the same batches, on random workloads.
#![allow(
    clippy::indexing_slicing,
    reason = "test code outside of test functions"
)]

mod sim_oracle;
mod sim_support;

use proptest::prelude::*;
use rooflut::sim::{
    Content, Listed, Observer, Outcome, Policy, PrefixCaching, Request, RequestRecord, Scheduling,
    SimConfig, Speculation, StepRecord,
};
use sim_oracle::kv_cache::LISTED_TOKENS;
use sim_support::{Linear, simulator};

/// The ids of a trace; the same ones begin at several places.
const IDS: [u64; 24] = [
    1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 9, 10, 11, 1, 2, 12, 13, 14, 1, 2, 3, 4, 15,
];

/// Nothing shared, few texts shared by many, few sessions, parts of a trace.
fn contents() -> impl Strategy<Value = Content> {
    let texts = (0..2_u64, prop_oneof![Just(0_u32), 0..150_u32], 0..6_u64);
    let texts = texts.prop_map(|(prefix, prefix_tokens, own)| Content::Texts {
        prefix,
        prefix_tokens,
        own,
    });
    let listed = (
        prop_oneof![Just(0_u32), Just(8), Just(14), Just(19)],
        0..6_u32,
    );
    let listed = listed.prop_map(|(first, count)| Content::Listed {
        first,
        count: count.min(24 - first),
    });
    prop_oneof![Just(Content::Unique), texts, listed]
}

/// Lengths and gaps of a workload.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    // Gaps from none to far more than a step; prompts below, at and above the budget.
    let gap = prop_oneof![Just(0_u64), 0..3_000_u64, 0..200_000_u64];
    let hit = prop_oneof![Just(0_u32), 0..160_u32];
    let request = (gap, 0..200_u32, 0..90_u32, hit, contents(), 0..3_u32);
    prop::collection::vec(request, 1..60).prop_map(|requests| {
        let mut now_ns = 0;
        let arrive =
            |(gap_ns, prompt_tokens, output_tokens, cached_prompt_tokens, content, priority)| {
                now_ns += gap_ns;
                Request::new(prompt_tokens, output_tokens)
                    .at_ns(now_ns)
                    .with_cached_prompt_tokens(cached_prompt_tokens)
                    .with_priority(priority)
                    .with_content(content)
            };
        requests.into_iter().map(arrive).collect()
    })
}

/// Servers from roomy to so tight that everybody is preempted again and again.
fn servers() -> impl Strategy<Value = SimConfig> {
    let kv_blocks = prop_oneof![18..30_u32, 18..80_u32, Just(10_000)];
    let scheduling = prop_oneof![
        Just(Scheduling::Synchronous),
        Just(Scheduling::OneStepAhead)
    ];
    let caching = prop_oneof![Just(PrefixCaching::Enabled), Just(PrefixCaching::Disabled)];
    let limits = (
        1..20_u32,
        0..120_u32,
        kv_blocks,
        prop_oneof![Just(16_u32), Just(1), Just(7)],
    );
    let policy = prop_oneof![
        Just(Policy::Fcfs),
        Just(Policy::ShortestPrompt),
        Just(Policy::Priority),
    ];
    let draft_tokens = prop_oneof![Just(0), 1..5_u32];
    let drafts = (draft_tokens, prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]);
    let queue = (policy, prop_oneof![Just(None), (1..10_u32).prop_map(Some)]);
    (limits, scheduling, caching, queue, drafts, 0..2_u64).prop_map(
        |(limits, scheduling, prefix_caching, (policy, max_waiting), drafts, api)| {
            let (max_num_seqs, more, kv_blocks, block_size) = limits;
            let mut config = SimConfig::new(280, kv_blocks * 16 / block_size);
            config.max_num_seqs = max_num_seqs;
            config.max_num_batched_tokens = max_num_seqs + more;
            config.block_size = block_size;
            config.scheduling = scheduling;
            config.prefix_caching = prefix_caching;
            config.policy = policy;
            config.max_waiting = max_waiting;
            config.api_server_ns = 700 * api;
            let (draft_tokens, acceptance) = drafts;
            if draft_tokens > 0 {
                config.scheduling = Scheduling::Synchronous;
                config.max_num_batched_tokens = max_num_seqs * (1 + draft_tokens) + more;
                config.speculation = Speculation::try_new(draft_tokens, acceptance, api).ok();
            }
            config
        },
    )
}

/// Writes down what became of each, and the gaps between tokens.
struct Seen {
    outcomes: Vec<Option<Outcome>>,
    gaps_ns: Vec<u64>,
}

impl Observer for Seen {
    const EACH_STEP: bool = true;

    fn step(&mut self, step: &StepRecord) {
        let decoding = std::iter::repeat_n(step.duration_ns, step.decode_requests as usize);
        self.gaps_ns.extend(decoding);
    }

    fn resumed(&mut self, _: usize, gap_ns: u64) {
        self.gaps_ns.push(gap_ns);
    }

    fn left(&mut self, place: usize, record: &RequestRecord) {
        assert_eq!(self.outcomes[place].replace(record.outcome), None);
    }
}

fn compare(config: SimConfig, requests: &[Request], ids: &[u64]) {
    let (model, naive) = (Linear::mixed(), Linear::mixed());
    let mut seen = Seen {
        outcomes: vec![None; requests.len()],
        gaps_ns: Vec::new(),
    };
    let mut source = Listed::new(requests).with_ids(ids, LISTED_TOKENS);
    let totals = simulator(&model, config).serve(&mut source, &mut seen);
    let mut expected = sim_oracle::run(&naive, config, requests, ids);
    seen.gaps_ns.sort_unstable();
    expected.gaps_ns.sort_unstable();
    assert_eq!(seen.gaps_ns, expected.gaps_ns);
    let outcomes: Vec<Outcome> = seen.outcomes.into_iter().flatten().collect();
    assert_eq!(outcomes, expected.outcomes);
    assert_eq!(model.batches.into_inner(), naive.batches.into_inner());
    assert_eq!(totals.steps, expected.steps);
    assert_eq!(totals.preemptions, expected.preemptions);
    assert_eq!(totals.peak_kv_blocks, expected.peak_blocks);
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
    let requests: Vec<Request> = (0..40)
        .map(|index| Request::new(20 + (index as u32 * 7) % 30, 200).at_ns(index * 100))
        .collect();
    for scheduling in [Scheduling::Synchronous, Scheduling::OneStepAhead] {
        let mut config = SimConfig::new(280, 45);
        config.scheduling = scheduling;
        compare(config, &requests, &[]);
        let model = Linear::mixed();
        assert!(simulator(&model, config).run(&requests).summary.preemptions > 30);
    }
}

#[test]
fn tokens_beyond_the_end_of_a_request_are_not_yielded() {
    let request = Request::new(20, 4);
    let mut config = SimConfig::new(280, 100);
    config.scheduling = Scheduling::Synchronous;
    config.speculation = Speculation::try_new(8, 1.0, 0).ok();
    let model = Linear::mixed();
    let requests = [request; 5];
    let summary = simulator(&model, config).run(&requests).summary;
    let drafts = summary.drafts.unwrap();
    // A token of the prompt's step, and three of one verification, though nine were there.
    assert_eq!((drafts.verifications, drafts.yielded_tokens), (5, 15));
    assert_eq!((drafts.drafted_tokens, drafts.accepted_tokens), (40, 40));
    compare(config, &requests, &[]);
}

#[test]
fn a_session_finds_its_earlier_turns_and_loses_them_to_others() {
    let turn = |arrival_ns, prompt_tokens, own| {
        Request::new(prompt_tokens, 20)
            .at_ns(arrival_ns)
            .with_content(Content::Texts {
                prefix: 1,
                prefix_tokens: 64,
                own,
            })
    };
    let second_chunk = |blocks: u32, requests: &[Request]| {
        let mut config = SimConfig::new(280, blocks);
        config.max_num_batched_tokens = 256;
        let model = Linear::mixed();
        simulator(&model, config).run(requests);
        compare(config, requests, &[]);
        let batches = model.batches.into_inner();
        let mut chunks = batches.iter().flat_map(|batch| &batch.prefill);
        chunks
            .next_back()
            .map(|chunk| (chunk.new_tokens(), chunk.context()))
            .unwrap()
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
