//! Random requests and servers.

use proptest::prelude::*;
use rooflut::engine::Scheduling;
use rooflut::sim::{Content, PrefixCaching, Request, SchedulingPolicy, SimConfig, Speculation};

/// The ids of a trace; the same ones begin at several places.
pub(crate) const IDS: [u64; 24] = [
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
    let listed = listed.prop_map(|(first, count)| Content::TraceBlocks {
        first,
        count: count.min(24 - first),
    });
    prop_oneof![Just(Content::Unique), texts, listed]
}

/// Lengths and gaps of a workload.
pub(crate) fn requests() -> impl Strategy<Value = Vec<Request>> {
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
pub(crate) fn servers() -> impl Strategy<Value = SimConfig> {
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
        Just(SchedulingPolicy::Fcfs),
        Just(SchedulingPolicy::ShortestPrompt),
        Just(SchedulingPolicy::Priority),
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
