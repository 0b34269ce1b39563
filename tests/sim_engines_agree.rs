//! The engine whose steps cost the same whatever the batch, against the straightforward one: the same
//! nanoseconds, the same batches, on random workloads.
#![allow(
    clippy::indexing_slicing,
    reason = "test code outside of test functions"
)]

mod sim_oracle;
mod sim_support;

use proptest::prelude::*;
use rooflut::sim::{Observer, PrefixCaching, Request, Scheduling, SimConfig, StepRecord};
use sim_support::{Linear, simulator};

/// Lengths and gaps of a workload.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    // Gaps from none to far more than a step; prompts below, at and above the budget.
    let gap = prop_oneof![Just(0_u64), 0..3_000_u64, 0..200_000_u64];
    let request = (gap, 0..200_u32, 0..90_u32, 0..160_u32);
    prop::collection::vec(request, 1..60).prop_map(|requests| {
        let mut now_ns = 0;
        let arrive = |(gap_ns, prompt_tokens, output_tokens, cached_prompt_tokens)| {
            now_ns += gap_ns;
            Request {
                arrival_ns: now_ns,
                prompt_tokens,
                output_tokens,
                cached_prompt_tokens,
                ..Request::default()
            }
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
    (limits, scheduling, caching, 0..2_u64).prop_map(
        |((max_num_seqs, more, kv_blocks, block_size), scheduling, prefix_caching, api)| {
            let mut config = SimConfig::new(280, kv_blocks * 16 / block_size);
            config.max_num_seqs = max_num_seqs;
            config.max_num_batched_tokens = max_num_seqs + more;
            config.block_size = block_size;
            config.scheduling = scheduling;
            config.prefix_caching = prefix_caching;
            config.api_server_ns = 700 * api;
            config
        },
    )
}

/// The gaps between tokens, as an observer sees them.
#[derive(Default)]
struct Gaps(Vec<u64>);

impl Observer for Gaps {
    const EACH_STEP: bool = true;

    fn step(&mut self, step: &StepRecord) {
        let decoding = std::iter::repeat_n(step.duration_ns, step.decode_requests as usize);
        self.0.extend(decoding);
    }

    fn resumed(&mut self, _: usize, gap_ns: u64) {
        self.0.push(gap_ns);
    }
}

fn compare(config: SimConfig, requests: &[Request]) {
    let (model, naive) = (Linear::mixed(), Linear::mixed());
    let mut gaps = Gaps::default();
    let report = simulator(&model, config).run_with(requests, &mut gaps);
    let mut expected = sim_oracle::run(&naive, config, requests);
    gaps.0.sort_unstable();
    expected.gaps_ns.sort_unstable();
    assert_eq!(gaps.0, expected.gaps_ns);
    let outcomes: Vec<_> = report.records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, expected.outcomes);
    assert_eq!(model.batches.into_inner(), naive.batches.into_inner());
    let summary = report.summary;
    assert_eq!(summary.steps, expected.steps);
    assert_eq!(summary.preemptions, expected.preemptions);
    assert_eq!(summary.kv.peak_blocks, expected.peak_blocks);
    let block_s = summary.kv.mean_blocks * summary.makespan.0;
    let expected_block_s = expected.block_ns as f64 / 1e9;
    assert!((block_s - expected_block_s).abs() <= 1e-9 * expected_block_s + 1e-15);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn both_engines_agree_to_the_nanosecond(config in servers(), requests in requests()) {
        compare(config, &requests);
    }
}

#[test]
fn a_preemption_storm_is_the_same_storm() {
    // Forty requests that fit one by one and grow until there is room for three.
    let requests: Vec<Request> = (0..40)
        .map(|index| Request {
            arrival_ns: index * 100,
            prompt_tokens: 20 + (index as u32 * 7) % 30,
            output_tokens: 200,
            ..Request::default()
        })
        .collect();
    for scheduling in [Scheduling::Synchronous, Scheduling::OneStepAhead] {
        let mut config = SimConfig::new(280, 45);
        config.scheduling = scheduling;
        compare(config, &requests);
        let model = Linear::mixed();
        assert!(simulator(&model, config).run(&requests).summary.preemptions > 30);
    }
}
