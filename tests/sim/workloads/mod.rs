//! Random requests and servers.

use std::ops::Range;

use proptest::prelude::*;
use rooflut::engine::{
    BeyondMaxModelLen, DraftScheduling, FreedBlocks, LonePrefill, PadSpecDecode, Scheduling, SchedulingRules,
    SelfPreemption, VictimIndex, VictimToken, stacks,
};
use rooflut::model::{KvGroups, Span};
use rooflut::sim::load::{Lengths, Priorities, RequestMix, Sessions, SharedPrefixes, ThinkTime};
use rooflut::sim::{Content, PrefixCaching, Request, SchedulingPolicy, SimConfig, Speculation, StepRecord};

/// The ids of a trace; the same ones begin at several places.
pub(crate) const IDS: [u64; 24] = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 9, 10, 11, 1, 2, 12, 13, 14, 1, 2, 3, 4, 15];

/// Nothing shared, few texts shared by many, few sessions, parts of a trace.
fn contents() -> impl Strategy<Value = Content> {
    let texts = (0..2_u64, prop_oneof![Just(0_u32), 0..150_u32], 0..6_u64)
        .prop_map(|(prefix, prefix_tokens, own)| Content::Texts { prefix, prefix_tokens, own });
    let listed = (prop_oneof![Just(0_u32), Just(8), Just(14), Just(19)], 0..6_u32)
        .prop_map(|(first, count)| Content::TraceBlocks { first, count: count.min(24 - first) });
    prop_oneof![Just(Content::Unique), texts, listed]
}

/// Requests that arrive with these gaps between them.
pub(crate) fn ascending<T: std::fmt::Debug>(
    gap_ns: impl Strategy<Value = u64>,
    properties: impl Strategy<Value = T>,
    number: Range<usize>,
    request: impl Fn(T) -> Request,
) -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec((gap_ns, properties), number).prop_map(move |requests| {
        let mut now_ns = 0;
        let arrive = |(gap_ns, properties)| {
            now_ns += gap_ns;
            request(properties).at_ns(now_ns)
        };
        requests.into_iter().map(arrive).collect()
    })
}

/// A text of its own after a prefix that all share.
pub(crate) fn texts(prefix_tokens: u32, own: u64) -> Content {
    Content::Texts { prefix: 0, prefix_tokens, own }
}

pub(crate) fn scheduling() -> impl Strategy<Value = Scheduling> {
    prop_oneof![Just(Scheduling::Synchronous), Just(Scheduling::OneStepAhead)]
}

pub(crate) fn policy() -> impl Strategy<Value = SchedulingPolicy> {
    prop_oneof![Just(SchedulingPolicy::Fcfs), Just(SchedulingPolicy::ShortestPrompt), Just(SchedulingPolicy::Priority),]
}

/// Asserts that no step of a replica begins before the one before it has ended.
pub(crate) fn assert_no_overlap(steps: &[StepRecord]) {
    let mut ends_ns = std::collections::HashMap::new();
    for step in steps {
        let end_ns = ends_ns.entry(step.replica).or_insert(0);
        assert!(step.start_ns >= *end_ns, "{step:?}");
        *end_ns = step.start_ns + step.duration_ns;
    }
}

/// Requests that stand alone.
pub(crate) fn single() -> RequestMix {
    let prompt = Lengths::try_lognormal(300.0, 1.0, 1..=8_192).unwrap();
    RequestMix::new(prompt, Lengths::try_uniform(64..=256).unwrap())
}

/// Sessions of 1 to 3 turns, shared prefixes of 100 tokens, two classes with these shares.
pub(crate) fn chat(prefixes: u32, think: ThinkTime, shares: [f64; 2]) -> RequestMix {
    let turns = Lengths::try_uniform(1..=3).unwrap();
    single()
        .with_prefixes(SharedPrefixes::try_new(prefixes, PREFIX_TOKENS).unwrap())
        .with_sessions(Sessions::new(turns, think))
        .with_priorities(Priorities::try_new(shares).unwrap())
}

pub(crate) const PREFIX_TOKENS: u32 = 100;

/// The session of a request of [`chat`].
pub(crate) fn own(request: &Request) -> u64 {
    match request.content {
        Content::Texts { own, .. } => own,
        other => panic!("{other:?}"),
    }
}

/// Lengths and gaps of a workload.
pub(crate) fn requests() -> impl Strategy<Value = Vec<Request>> {
    // Gaps from none to far more than a step; prompts below, at and above the budget.
    let gap = prop_oneof![Just(0_u64), 0..3_000_u64, 0..200_000_u64];
    let hit = prop_oneof![Just(0_u32), 0..160_u32];
    let request = (0..200_u32, 0..90_u32, hit, contents(), 0..3_u32);
    ascending(gap, request, 1..60, |(prompt, output, cached, content, priority)| {
        Request::new(prompt, output).with_cached_prompt_tokens(cached).with_priority(priority).with_content(content)
    })
}

/// Whose preemptions and chunks follow any of the rules of any version.
fn preemption_rules() -> impl Strategy<Value = SchedulingRules> {
    let tokens = prop_oneof![Just(VictimToken::Computed), Just(VictimToken::TakenBack)];
    let index = prop_oneof![Just(VictimIndex::Stays), Just(VictimIndex::MovesIfScheduled), Just(VictimIndex::Moves)];
    let itself = prop_oneof![Just(SelfPreemption::EndsPass), Just(SelfPreemption::Continues)];
    let lone = prop_oneof![Just(LonePrefill::Threshold), Just(LonePrefill::Budget)];
    (tokens, index, itself, lone).prop_map(|(victim_token, victim_index, self_preemption, lone_prefill)| {
        let mut rules = stacks::VLLM_0_15_1.rules;
        rules.victim_token = victim_token;
        rules.victim_index = victim_index;
        rules.self_preemption = self_preemption;
        rules.lone_prefill = lone_prefill;
        rules
    })
}

/// One group of layers, or several, with and without windows and chunks.
fn groups() -> impl Strategy<Value = KvGroups> {
    let span = prop_oneof![(1..280_u32).prop_map(Span::Window), (1..280_u32).prop_map(Span::Chunk),];
    let several = (0..3_u32, 1..3_u32, any::<bool>(), span).prop_map(|(full, limited, limited_first, span)| {
        let mut groups = KvGroups::ONE;
        let full = match span {
            Span::Chunk(_) => full.max(1),
            _ => full,
        };
        (groups.full, groups.limited) = (full, limited);
        (groups.limited_first, groups.span) = (limited_first, span);
        groups
    });
    prop_oneof![Just(KvGroups::ONE), several]
}

/// Servers from roomy to so tight that everybody is preempted again and again.
pub(crate) fn servers() -> impl Strategy<Value = SimConfig> {
    let kv_blocks = prop_oneof![18..30_u32, 18..80_u32, Just(10_000)];
    let caching = prop_oneof![Just(PrefixCaching::Enabled), Just(PrefixCaching::Disabled)];
    let limits = (
        prop_oneof![Just(280_u32), Just(150)],
        1..20_u32,
        0..120_u32,
        kv_blocks,
        prop_oneof![Just(16_u32), Just(1), Just(7)],
    );
    let draft_tokens = prop_oneof![Just(0), 1..5_u32];
    let acceptance = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    let pads = prop_oneof![Just(PadSpecDecode::Never), Just(PadSpecDecode::WithRunning), Just(PadSpecDecode::Always)];
    let drafts = (draft_tokens, acceptance, 0..3_u8, any::<[bool; 5]>(), pads);
    let freed = prop_oneof![Just(FreedBlocks::Last), Just(FreedBlocks::UncachedFirst)];
    let beyond = prop_oneof![Just(BeyondMaxModelLen::Reject), Just(BeyondMaxModelLen::Truncate)];
    let watermark = prop_oneof![Just(0.0), 0.0..0.3];
    let states = prop_oneof![3 => Just(0_u32), 1 => 1..5_u32];
    let memory = (caching, freed, any::<[bool; 2]>(), beyond, watermark, (groups(), states));
    let queue = (
        policy(),
        prop_oneof![Just(None), (1..10_u32).prop_map(Some)],
        prop_oneof![Just(None), (1..80_u32).prop_map(Some)],
        preemption_rules(),
        // From less than a step to longer than most runs.
        prop_oneof![2 => Just(None), 1 => (1..20_000_u64).prop_map(Some), 2 => (1..600_000_u64).prop_map(Some)],
    );
    (limits, scheduling(), memory, queue, drafts, 0..2_u64).prop_map(
        |(limits, scheduling, memory, queue, drafts, api)| {
            let (policy, max_waiting, threshold, rules, patience_ns) = queue;
            let (prefix_caching, freed_blocks, switches, beyond, watermark, (groups, states)) = memory;
            let [reserve_full_isl, window_in_flight] = switches;
            let (max_model_len, max_num_seqs, more, kv_blocks, block_size) = limits;
            let kv_blocks = kv_blocks * 16 / block_size * groups.count() + states;
            let mut config = SimConfig::new(max_model_len, kv_blocks);
            config.max_num_seqs = max_num_seqs;
            config.max_num_batched_tokens = max_num_seqs + more;
            config.block_size = block_size;
            config.kv_groups = groups;
            config.kv_groups.states = states;
            if let Span::Chunk(tokens) = groups.span {
                config.kv_groups.span = Span::Chunk(tokens.next_multiple_of(block_size));
            }
            config.rules = rules;
            config.rules.window_in_flight = window_in_flight;
            config.rules.scheduling = scheduling;
            config.prefix_caching = match states {
                0 => prefix_caching,
                _ => PrefixCaching::Disabled,
            };
            config.rules.freed_blocks = freed_blocks;
            config.rules.scheduler_reserve_full_isl = reserve_full_isl;
            config.rules.beyond_max_model_len = beyond;
            config.watermark = watermark;
            config.policy = policy;
            config.long_prefill_token_threshold = threshold;
            config.max_waiting = max_waiting;
            config.patience_ns = patience_ns;
            config.api_server_ns = 700 * api;
            config.api_token_ns = 11 * api;
            config.api_output_ns = 30 * api;
            let (draft_tokens, acceptance, drafter, draft_rules, pads) = drafts;
            let [slot, lookahead, caches, chunks, drops] = draft_rules;
            config.rules.draft_slot = slot;
            config.rules.admission_lookahead = lookahead;
            config.rules.pad_spec_decode = pads;
            config.rules.cache_sampled_tokens = caches;
            config.rules.chunk_drafts = chunks;
            config.rules.mtp_drops_block = drops;
            if draft_tokens > 0 {
                if pads != PadSpecDecode::Never {
                    let longest = |threshold: u32| threshold.max(1 + draft_tokens);
                    config.long_prefill_token_threshold = threshold.map(longest);
                }
                config.rules.draft_scheduling = DraftScheduling::Ahead;
                // Without it windows move on before drafts are rejected.
                config.rules.window_in_flight = true;
                let grouped = groups.count() > 1 || groups.limited > 0;
                let slot = u32::from(slot && drafter > 0);
                config.max_num_batched_tokens = max_num_seqs * (1 + draft_tokens + slot) + more;
                let speculation = Speculation::try_new(draft_tokens, acceptance, api).unwrap();
                config.speculation = Some(match drafter {
                    0 => speculation,
                    1 if !grouped => speculation.with_mtp(),
                    _ => speculation.with_draft_model(),
                });
            }
            config
        },
    )
}
