//! Small schedules whose nanoseconds were worked out by hand.
//!
//! Unless said otherwise a step takes what `Linear::mixed` says: 1000 ns, 10 ns a prompt token, 100 ns
//! a decoding request and 1 ns a token of its KV.

mod drafts;
mod preemption;
mod prefix_hits;

use crate::support::{Batch, Linear, request, simulator};
use rooflut::engine::{LonePrefill, Scheduling};
use rooflut::sim::{Outcome, Rejection, Request, SimConfig, SimReport};
use rooflut::step::{Chunk, DecodeGroup};
use rooflut::units::Seconds;

use Scheduling::{OneStepAhead, Synchronous};

fn config(scheduling: Scheduling, budget: u32, kv_blocks: u32) -> SimConfig {
    let mut config = SimConfig::new(4_096, kv_blocks);
    config.max_num_seqs = 4;
    config.max_num_batched_tokens = budget;
    config.rules.scheduling = scheduling;
    config
}

fn run(model: &Linear, config: SimConfig, requests: &[Request]) -> SimReport {
    simulator(model, config).run(requests).unwrap()
}

/// Scheduled, first token, finish, preemptions.
fn times(report: &SimReport, index: usize) -> (u64, u64, u64, u32) {
    let timing = report.records[index].timing().unwrap();
    (timing.scheduled_ns, timing.first_token_ns, timing.finish_ns, timing.preemptions)
}

/// Compares the [`times`] of the first requests.
fn assert_times(report: &SimReport, expected: &[(u64, u64, u64, u32)]) {
    let found: Vec<_> = (0..expected.len()).map(|index| times(report, index)).collect();
    assert_eq!(found, expected);
}

fn chunk(new: u32, context: u32, samples: u32) -> Chunk {
    match samples {
        0 => Chunk::partial(new, context + new).unwrap(),
        _ => Chunk::last(new, context + new).unwrap(),
    }
}

fn decode(requests: u32, kv_tokens: u64) -> Vec<DecodeGroup> {
    vec![DecodeGroup::from_sum(requests, kv_tokens).unwrap()]
}

#[test]
fn a_lone_request_takes_the_same_time_in_both_modes() {
    for scheduling in [Synchronous, OneStepAhead] {
        let model = Linear::mixed();
        let report = run(&model, config(scheduling, 2_048, 100), &[request(7, 100, 3)]);
        // 100 prompt tokens: 2000. Then 101 and 102 tokens of KV: 1201 and 1202.
        assert_eq!(times(&report, 0), (7, 2_007, 4_410, 0));
        let batch = |prefill, decode| Batch { prefill, decode };
        let batches =
            [batch(vec![chunk(100, 0, 1)], vec![]), batch(vec![], decode(1, 101)), batch(vec![], decode(1, 102))];
        assert_eq!(*model.batches.borrow(), batches);
    }
}

#[test]
fn a_long_prompt_is_computed_in_chunks() {
    for scheduling in [Synchronous, OneStepAhead] {
        let model = Linear::mixed();
        let report = run(&model, config(scheduling, 64, 100), &[request(0, 150, 2)]);
        // 64 and 64 tokens: 1640 each; 22 tokens: 1220; a decode at 151: 1251.
        assert_eq!(times(&report, 0), (0, 4_500, 5_751, 0));
        let batches = model.batches.borrow();
        let chunks: Vec<Chunk> = batches.iter().flat_map(|b| b.prefill.clone()).collect();
        assert_eq!(chunks, [chunk(64, 0, 0), chunk(64, 64, 0), chunk(22, 128, 1)]);
    }
}

#[test]
fn decodes_come_first_and_prefill_gets_the_rest_of_the_budget() {
    let requests = [request(0, 10, 3), request(1, 100, 2)];
    let model = Linear::mixed();
    let report = run(&model, config(Synchronous, 64, 100), &requests);
    //    0  A: 10 prompt tokens                          1100
    // 1100  A: decode at 11; B: 63 of 100 prompt tokens  1000 + 630 + 111 = 1741
    // 2841  A: decode at 12; B: the other 37             1000 + 370 + 112 = 1482
    // 4323  B: decode at 101                             1201
    assert_times(&report, &[(0, 1_100, 4_323, 0), (1_100, 4_323, 5_524, 0)]);
    let second = Batch { prefill: vec![chunk(63, 0, 0)], decode: decode(1, 11) };
    assert_eq!(model.batches.borrow()[1], second);
}

#[test]
fn one_step_ahead_an_arrival_joins_the_step_after_the_next() {
    let requests = [request(0, 10, 3), request(1, 100, 2)];
    let model = Linear::mixed();
    let report = run(&model, config(OneStepAhead, 64, 100), &requests);
    //    0  A: 10 prompt tokens                          1100  (and A's decode is fixed)
    // 1100  A: decode at 11                              1111  (and B's first chunk is fixed)
    // 2211  A: decode at 12; B: 63 of 100 prompt tokens  1000 + 630 + 112 = 1742
    // 3953  B: the other 37                              1370
    // 5323  B: decode at 101                             1201
    assert_times(&report, &[(0, 1_100, 3_953, 0), (1_100, 5_323, 6_524, 0)]);
    assert_eq!(report.summary.steps, 5);
}

#[test]
fn an_arrival_at_a_busy_server_waits_one_step_and_a_half_or_two_and_a_half() {
    for (scheduling, ttft) in [(Synchronous, 1.5e-6), (OneStepAhead, 2.5e-6)] {
        let model = Linear { step_ns: 1_000, ..Linear::default() };
        let requests = [request(0, 8, 100), request(10_500, 8, 2)];
        let report = run(&model, config(scheduling, 64, 100), &requests);
        assert_eq!(report.records[1].ttft(), Some(Seconds(ttft)));
        // Scheduled at the end of the step during which it came.
        assert_eq!(report.records[1].queue(), Some(Seconds(0.5e-6)));
    }
}

#[test]
fn an_arrival_at_the_nanosecond_of_a_schedule_is_in_it() {
    for (scheduling, first_token_ns) in [(Synchronous, 12_000), (OneStepAhead, 13_000)] {
        let model = Linear { step_ns: 1_000, ..Linear::default() };
        let requests = [request(0, 8, 100), request(11_000, 8, 1)];
        let report = run(&model, config(scheduling, 64, 100), &requests);
        let expected = (11_000, first_token_ns, first_token_ns, 0);
        assert_eq!(times(&report, 1), expected);
    }
}

#[test]
fn an_idle_engine_starts_at_the_arrival() {
    for scheduling in [Synchronous, OneStepAhead] {
        let model = Linear::mixed();
        // The second comes while the only step of the first runs, the third long after.
        let requests = [request(50, 10, 1), request(500, 20, 1), request(90_000, 30, 1)];
        let report = run(&model, config(scheduling, 64, 100), &requests);
        assert_times(&report, &[(50, 1_150, 1_150, 0), (1_150, 2_350, 2_350, 0), (90_000, 91_300, 91_300, 0)]);
    }
}

#[test]
fn one_step_ahead_a_slot_is_free_when_the_last_step_has_ended() {
    let requests = [request(0, 10, 2), request(1, 10, 1), request(2, 10, 1)];
    let mut config = config(OneStepAhead, 64, 100);
    config.max_num_seqs = 2;
    let report = run(&Linear::mixed(), config, &requests);
    //    0  A: 10 prompt tokens   1100  (A's decode is fixed)
    // 1100  A: decode at 11       1111  (B is fixed; C finds no slot, for A holds one)
    // 2211  B: 10 prompt tokens   1100  (C is fixed, in A's slot)
    // 3311  C: 10 prompt tokens   1100
    assert_times(&report, &[(0, 1_100, 2_211, 0), (1_100, 3_311, 3_311, 0), (2_211, 4_411, 4_411, 0)]);
}

#[test]
fn one_step_ahead_the_end_of_a_step_frees_no_slot_of_the_next() {
    let requests = [request(0, 10, 1), request(0, 10, 2), request(1, 10, 1), request(1, 10, 1)];
    let mut config = config(OneStepAhead, 64, 100);
    config.max_num_seqs = 2;
    let report = run(&Linear::mixed(), config, &requests);
    //    0  A and B: 20 prompt tokens  1200  (B's last decode is fixed)
    // 1200  B: decode at 11            1111  (C is fixed, in A's slot; B still holds the other)
    // 2311  C: 10 prompt tokens        1100  (D is fixed, in B's slot)
    // 3411  D: 10 prompt tokens        1100
    assert_times(
        &report,
        &[(0, 1_200, 1_200, 0), (0, 1_200, 2_311, 0), (1_200, 3_411, 3_411, 0), (2_311, 4_511, 4_511, 0)],
    );
}

#[test]
fn the_engine_sleeps_after_an_empty_schedule_if_requests_are_waiting() {
    let requests = [request(0, 10, 1), request(0, 10, 1)];
    let second = |scheduling, sleep_ns| {
        let mut config = config(scheduling, 100, 100);
        config.rules.empty_schedule_sleep_ns = sleep_ns;
        config.max_num_seqs = 1;
        times(&run(&Linear::mixed(), config, &requests), 1)
    };
    assert_eq!(second(Synchronous, 1_000_000), (1_100, 2_200, 2_200, 0));
    assert_eq!(second(OneStepAhead, 0), (1_100, 2_200, 2_200, 0));
    // During the first step its slot is taken: the schedule of the second step is empty.
    let slept = (1_001_100, 1_002_200, 1_002_200, 0);
    assert_eq!(second(OneStepAhead, 1_000_000), slept);
}

#[test]
fn others_are_admitted_beside_a_prompt_that_the_threshold_cuts() {
    for (lone_prefill, lone) in [(LonePrefill::Threshold, 20), (LonePrefill::Budget, 60)] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 100, 100).with_long_prefill_token_threshold(20);
        config.rules.lone_prefill = lone_prefill;
        run(&model, config, &[request(0, 60, 1), request(0, 30, 2)]);
        let expected =
            [vec![chunk(20, 0, 0), chunk(20, 0, 0)], vec![chunk(20, 20, 0), chunk(10, 20, 1)], vec![chunk(20, 40, 1)]];
        let chunks: Vec<_> = (model.batches.take().into_iter()).map(|batch| batch.prefill).collect();
        assert_eq!(chunks, expected);
        // Alone, 0.33 does not cut it.
        run(&model, config, &[request(0, 60, 1)]);
        assert_eq!(model.batches.borrow()[0].prefill, [chunk(lone, 0, u32::from(lone == 60))]);
    }
}

#[test]
fn what_can_never_be_served_is_counted_with_a_reason() {
    let mut config = config(Synchronous, 64, 4);
    config.max_model_len = 100;
    let requests = [request(0, 0, 5), request(0, 5, 0), request(0, 60, 41), request(0, 60, 6), request(0, 60, 5)];
    let report = run(&Linear::mixed(), config, &requests);
    let outcomes: Vec<Outcome> = report.records.iter().map(|r| r.outcome).collect();
    assert_eq!(
        outcomes[..4],
        [
            Outcome::Rejected(Rejection::EmptyPrompt),
            Outcome::Rejected(Rejection::EmptyOutput),
            Outcome::Rejected(Rejection::TooLong { tokens: 101, max_model_len: 100 }),
            Outcome::Rejected(Rejection::TooManyBlocks { blocks: 5, kv_blocks: 4 }),
        ]
    );
    assert!(report.records[4].timing().is_some());
    let summary = report.summary;
    assert_eq!((summary.completed, summary.rejected), (1, 4));
}

#[test]
fn the_summary_follows_from_the_records() {
    let requests = [request(0, 10, 3), request(1, 100, 2)];
    let report = run(&Linear::mixed(), config(Synchronous, 64, 100), &requests);
    let summary = report.summary;
    // Times as in `decodes_come_first_and_prefill_gets_the_rest_of_the_budget`.
    let close = |found: Seconds, ns: f64| (found.0 * 1e9 - ns).abs() < 1e-6;
    let ttft = summary.ttft.unwrap();
    assert!(close(ttft.mean, (1_100.0 + 4_322.0) / 2.0));
    assert!(close(ttft.p50, (1_100.0 + 4_322.0) / 2.0));
    assert!(close(ttft.p90, 1_100.0 + 0.9 * 3_222.0));
    assert!(close(summary.tpot.unwrap().mean, (1_611.5 + 1_201.0) / 2.0));
    assert!(close(summary.e2e.unwrap().p99, 4_323.0 + 0.99 * 1_200.0));
    assert!(close(summary.queue.unwrap().p50, 1_099.0 / 2.0));
    assert!(close(summary.makespan, 5_524.0));
    assert_eq!(summary.steps, 4);

    let per_second = |count: f64| count / 5_524e-9;
    let throughput = summary.throughput;
    assert!((throughput.requests_per_s / per_second(2.0) - 1.0).abs() < 1e-12);
    assert!((throughput.output_tokens_per_s / per_second(5.0) - 1.0).abs() < 1e-12);
    assert!((throughput.total_tokens_per_s / per_second(115.0) - 1.0).abs() < 1e-12);

    // Blocks held: 1 for 1100 ns, 5 (A 1, B 4) for 1741, 8 (A 1, B 7) for 1482, 7 for 1201.
    assert_eq!((summary.kv.blocks, summary.kv.peak_blocks), (100, 8));
    let block_ns = 1_100.0 + 5.0 * 1_741.0 + 8.0 * 1_482.0 + 7.0 * 1_201.0;
    assert!((summary.kv.mean_blocks - block_ns / 5_524.0).abs() < 1e-9);
}
