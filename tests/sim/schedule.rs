//! Small schedules whose nanoseconds were worked out by hand.
//!
//! Unless said otherwise a step takes what `Linear::mixed` says: 1000 ns, 10 ns a prompt token, 100 ns
//! a decoding request and 1 ns a token of its KV.

use crate::support::{Batch, Linear, Seen, request, simulator};
use rooflut::engine::{LonePrefill, Scheduling, SelfPreemption, stacks};
use rooflut::sim::load::RequestList;
use rooflut::sim::{
    Content, Outcome, Rejection, Request, SchedulingPolicy, SimConfig, SimReport, Speculation,
};
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
    simulator(model, config).run(requests)
}

/// Scheduled, first token, finish, preemptions.
fn times(report: &SimReport, index: usize) -> (u64, u64, u64, u32) {
    let timing = report.records[index].timing().unwrap();
    (
        timing.scheduled_ns,
        timing.first_token_ns,
        timing.finish_ns,
        timing.preemptions,
    )
}

/// Compares the [`times`] of the first requests.
fn assert_times(report: &SimReport, expected: &[(u64, u64, u64, u32)]) {
    let found: Vec<_> = (0..expected.len())
        .map(|index| times(report, index))
        .collect();
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
        let report = run(
            &model,
            config(scheduling, 2_048, 100),
            &[request(7, 100, 3)],
        );
        // 100 prompt tokens: 2000. Then 101 and 102 tokens of KV: 1201 and 1202.
        assert_eq!(times(&report, 0), (7, 2_007, 4_410, 0));
        let batch = |prefill, decode| Batch { prefill, decode };
        let batches = [
            batch(vec![chunk(100, 0, 1)], vec![]),
            batch(vec![], decode(1, 101)),
            batch(vec![], decode(1, 102)),
        ];
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
        assert_eq!(
            chunks,
            [chunk(64, 0, 0), chunk(64, 64, 0), chunk(22, 128, 1)]
        );
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
    let second = Batch {
        prefill: vec![chunk(63, 0, 0)],
        decode: decode(1, 11),
    };
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
        let model = Linear {
            step_ns: 1_000,
            ..Linear::default()
        };
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
        let model = Linear {
            step_ns: 1_000,
            ..Linear::default()
        };
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
        let requests = [
            request(50, 10, 1),
            request(500, 20, 1),
            request(90_000, 30, 1),
        ];
        let report = run(&model, config(scheduling, 64, 100), &requests);
        assert_times(
            &report,
            &[
                (50, 1_150, 1_150, 0),
                (1_150, 2_350, 2_350, 0),
                (90_000, 91_300, 91_300, 0),
            ],
        );
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
    assert_times(
        &report,
        &[
            (0, 1_100, 2_211, 0),
            (1_100, 3_311, 3_311, 0),
            (2_211, 4_411, 4_411, 0),
        ],
    );
}

#[test]
fn one_step_ahead_the_end_of_a_step_frees_no_slot_of_the_next() {
    let requests = [
        request(0, 10, 1),
        request(0, 10, 2),
        request(1, 10, 1),
        request(1, 10, 1),
    ];
    let mut config = config(OneStepAhead, 64, 100);
    config.max_num_seqs = 2;
    let report = run(&Linear::mixed(), config, &requests);
    //    0  A and B: 20 prompt tokens  1200  (B's last decode is fixed)
    // 1200  B: decode at 11            1111  (C is fixed, in A's slot; B still holds the other)
    // 2311  C: 10 prompt tokens        1100  (D is fixed, in B's slot)
    // 3411  D: 10 prompt tokens        1100
    assert_times(
        &report,
        &[
            (0, 1_200, 1_200, 0),
            (0, 1_200, 2_311, 0),
            (1_200, 3_411, 3_411, 0),
            (2_311, 4_511, 4_511, 0),
        ],
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
fn a_request_that_finds_no_block_preempts_itself_if_it_came_last() {
    // Three blocks of 16: A grows to 33 tokens, B wants 18.
    let requests = [request(0, 16, 18), request(0, 16, 3)];
    let model = Linear::mixed();
    let report = run(&model, config(Synchronous, 64, 3), &requests);
    //     0  A and B: 32 prompt tokens                               1320
    //  1320  A: decode at 17, in the third block; B has none and gives its own back
    //        A: 17 decodes, at 17 to 33                              17 x 1100 + 425 = 19125
    // 20445  B: its 16 prompt tokens and its first output token      1170
    // 21615  B: decode at 18                                         1118
    assert_times(&report, &[(0, 1_320, 20_445, 0), (0, 1_320, 22_733, 1)]);
    let batches = model.batches.borrow();
    assert_eq!(batches[1].decode, decode(1, 17));
    assert_eq!(batches[18].prefill, [chunk(17, 0, 1)]);
    assert_eq!(batches[19].decode, decode(1, 18));
    assert_eq!(report.summary.preemptions, 1);
    assert_eq!(report.summary.kv.peak_blocks, 3);
}

#[test]
fn a_request_that_finds_no_block_takes_those_of_the_last_admitted() {
    let requests = [request(0, 32, 3), request(0, 10, 8)];
    let report = run(&Linear::mixed(), config(Synchronous, 64, 3), &requests);
    //    0  A and B: 42 prompt tokens                            1420
    // 1420  A: decode at 33, in the block of B                   1133
    // 2553  A: decode at 34                                      1134
    // 3687  B: its 10 prompt tokens and its first output token   1110
    // 4797  B: six decodes, at 12 to 17                          6 x 1100 + 87 = 6687
    assert_times(&report, &[(0, 1_420, 3_687, 0), (0, 1_420, 11_484, 1)]);
}

#[test]
fn by_priority_the_least_urgent_request_loses_its_token_to_a_later_one() {
    // Two blocks; in the fourth step the first request has its token when the second needs a block.
    let requests = [request(0, 13, 5).with_priority(1), request(1, 15, 5)];
    for (rules, lost) in [
        (stacks::VLLM_0_11_0.rules, vec![chunk(1, 0, 0)]),
        (stacks::VLLM_0_15_1.rules, vec![]),
    ] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 64, 2).with_policy(SchedulingPolicy::Priority);
        config.rules = rules;
        config.rules.scheduling = Synchronous;
        let report = run(&model, config, &requests);
        assert_eq!(
            (times(&report, 0).3, report.summary.preemptions),
            (1, 1),
            "{rules:?}"
        );
        let batches = model.batches.borrow();
        assert_eq!(batches[2].decode, decode(2, 15 + 16));
        assert_eq!(batches[3].decode, decode(1, 17));
        assert_eq!(batches[3].prefill, lost);
        // It begins again when the other is done: 13 tokens of the prompt and 3 of the output, but for the counted one.
        let again = batches.iter().rev().find(|batch| !batch.prefill.is_empty());
        let counted = lost.len() as u32;
        assert_eq!(
            again.unwrap().prefill,
            [chunk(16 - counted, counted, 1)],
            "{rules:?}"
        );
    }
}

#[test]
fn a_request_that_preempts_itself_ends_the_schedule_or_not() {
    // Two blocks; in the fourth step both requests need one more, the less urgent one first.
    let requests = [request(0, 14, 5).with_priority(1), request(1, 15, 5)];
    for (self_preemption, sleep_ns) in [
        (SelfPreemption::EndsPass, 1_000_000),
        (SelfPreemption::Continues, 0),
    ] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 64, 2).with_policy(SchedulingPolicy::Priority);
        config.rules.self_preemption = self_preemption;
        let mut seen = Seen::default();
        simulator(&model, config).serve(&mut RequestList::new(&requests), &mut seen);
        // 14 prompt tokens, then 15 beside a decode over 15 tokens, then two decodes over 16: 1140, 1265 and 1232.
        let fourth = seen.steps[3];
        assert_eq!(fourth.start_ns, 3_637 + sleep_ns);
        let late = u32::from(sleep_ns > 0);
        assert_eq!((fourth.decode_requests, fourth.late_decodes), (1, late));
        // The fourth step takes 1117.
        assert!(seen.gaps_ns.contains(&(1_117 + sleep_ns)));
    }
}

#[test]
fn others_are_admitted_beside_a_prompt_that_the_threshold_cuts() {
    for (lone_prefill, lone) in [(LonePrefill::Threshold, 20), (LonePrefill::Budget, 60)] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 100, 100).with_long_prefill_token_threshold(20);
        config.rules.lone_prefill = lone_prefill;
        run(&model, config, &[request(0, 60, 1), request(0, 30, 2)]);
        let expected = [
            vec![chunk(20, 0, 0), chunk(20, 0, 0)],
            vec![chunk(20, 20, 0), chunk(10, 20, 1)],
            vec![chunk(20, 40, 1)],
        ];
        let chunks: Vec<_> = (model.batches.take().into_iter())
            .map(|batch| batch.prefill)
            .collect();
        assert_eq!(chunks, expected);
        // Alone, 0.33 does not cut it.
        run(&model, config, &[request(0, 60, 1)]);
        assert_eq!(
            model.batches.borrow()[0].prefill,
            [chunk(lone, 0, u32::from(lone == 60))]
        );
    }
}

#[test]
fn drafts_end_before_max_model_len_and_at_the_threshold() {
    let drafted = |config: SimConfig| -> Vec<_> {
        let model = Linear::mixed();
        run(&model, config, &[request(0, 36, 4)]);
        let batches = model.batches.borrow();
        let decodes = batches.iter().flat_map(|batch| &batch.decode);
        decodes
            .map(|group| (group.drafted(), group.kv_tokens()))
            .collect()
    };
    let mut config = config(Synchronous, 100, 100);
    config.speculation = Speculation::try_new(3, 0.0, 0).ok();
    assert_eq!(drafted(config), [(3, 40), (3, 41), (3, 42)]);
    config.max_model_len = 40;
    assert_eq!(drafted(config), [(2, 39), (1, 39), (0, 39)]);
    config.max_model_len = 4_096;
    config.long_prefill_token_threshold = Some(2);
    assert_eq!(drafted(config), [(1, 38), (1, 39), (1, 40)]);
}

#[test]
fn a_draft_model_drafts_after_a_part_of_a_prompt_up_to_0_15() {
    for (chunk_drafts, last) in [(true, 13), (false, 10)] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 20, 100);
        config.rules.chunk_drafts = chunk_drafts;
        let speculation = Speculation::try_new(3, 1.0, 0).unwrap();
        config.speculation = Some(speculation.with_draft_model());
        run(&model, config, &[request(0, 30, 1)]);
        let batches = model.batches.take();
        let chunks: Vec<_> = batches.into_iter().map(|batch| batch.prefill).collect();
        assert_eq!(chunks, [vec![chunk(20, 0, 0)], vec![chunk(last, 20, 1)]]);
    }
}

#[test]
fn an_mtp_layer_computes_the_last_block_of_a_prefix_hit_again() {
    let text = Content::Texts {
        prefix: 1,
        prefix_tokens: 64,
        own: 1,
    };
    let mut second = request(10_000, 80, 1);
    second.content = Content::Texts {
        prefix: 1,
        prefix_tokens: 64,
        own: 2,
    };
    let mut first = request(0, 80, 1);
    first.content = text;
    let drafts = Speculation::try_new(1, 1.0, 0).unwrap();
    for (drafts, drops, context) in [
        (drafts.with_mtp(), true, 48),
        (drafts.with_mtp(), false, 64),
        (drafts.with_draft_model(), true, 64),
    ] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 100, 100).with_speculation(drafts);
        config.rules.mtp_drops_block = drops;
        run(&model, config, &[first, second]);
        let batches = model.batches.borrow();
        assert_eq!(batches[1].prefill, [chunk(80 - context, context, 1)]);
    }
}

#[test]
fn one_step_ahead_a_request_whose_last_token_is_on_its_way_loses_only_its_blocks() {
    let requests = [request(0, 32, 3), request(0, 10, 1)];
    let model = Linear::mixed();
    let report = run(&model, config(OneStepAhead, 64, 3), &requests);
    // When A's decode at 33 is fixed, B holds the third block, though its only token is under way.
    assert_times(&report, &[(0, 1_420, 3_687, 0), (0, 1_420, 1_420, 1)]);
    // Nothing is computed twice.
    assert_eq!(model.batches.borrow().len(), 3);
    // Synchronously B has finished by then.
    let report = run(&Linear::mixed(), config(Synchronous, 64, 3), &requests);
    assert_eq!(report.summary.preemptions, 0);
}

#[test]
fn a_prefix_hit_is_not_computed_and_takes_no_block() {
    let hit = |cached_prompt_tokens| {
        let model = Linear::mixed();
        let request = request(0, 96, 1).with_cached_prompt_tokens(cached_prompt_tokens);
        let report = run(&model, config(Synchronous, 2_048, 100), &[request]);
        let batches = model.batches.borrow();
        let finish_ns = times(&report, 0).2;
        (
            batches[0].prefill[0],
            finish_ns,
            report.summary.kv.peak_blocks,
        )
    };
    assert_eq!(hit(0), (chunk(96, 0, 1), 1_960, 6));
    assert_eq!(hit(50), (chunk(48, 48, 1), 1_480, 3));
    // Not the last token, and so not its block.
    assert_eq!(hit(96), (chunk(16, 80, 1), 1_160, 1));
}

#[test]
fn a_request_that_decodes_is_found_as_far_as_its_blocks_are_full() {
    let text = Content::Texts {
        prefix: 0,
        prefix_tokens: 0,
        own: 5,
    };
    for (scheduling, in_flight) in [(Synchronous, 0), (OneStepAhead, 1)] {
        let mut contexts = Vec::new();
        for arrival_ns in (2_000..60_000).step_by(500) {
            let model = Linear::mixed();
            let first = request(0, 20, 100).with_content(text);
            let turn = request(arrival_ns, 60, 1).with_content(text);
            run(&model, config(scheduling, 100, 100), &[first, turn]);
            let batches = model.batches.borrow();
            let of_turn = |batch: &Batch| !batch.prefill.is_empty() && !batch.decode.is_empty();
            let step = batches.iter().position(of_turn).unwrap() as u32;
            let context = batches[step as usize].prefill[0].context();
            // One token a step after the prompt; the last token of the turn is computed in any case.
            assert_eq!(context, ((20 + step - in_flight) / 16 * 16).min(48));
            contexts.push(context);
        }
        contexts.dedup();
        assert_eq!(contexts, [16, 32, 48], "{scheduling:?}");
    }
}

#[test]
fn a_prefix_hit_holds_again_after_a_preemption() {
    let hit = request(0, 40, 10).with_cached_prompt_tokens(32);
    let model = Linear::mixed();
    let report = run(
        &model,
        config(Synchronous, 64, 4),
        &[request(0, 48, 3), hit],
    );
    // A fills three blocks and takes the fourth from B at its first decode; B waits until A is done.
    //    0  A: 48 prompt tokens; B: 8 after 32    1560
    // 1560  A: decodes at 49 and 50               1149 + 1150 = 2299
    // 3859  B: 9 after 32                         1090
    // 4949  B: eight decodes, at 42 to 49         8 x 1100 + 364 = 9164
    assert_times(&report, &[(0, 1_560, 3_859, 0), (0, 1_560, 14_113, 1)]);
    assert_eq!(model.batches.borrow()[3].prefill, [chunk(9, 32, 1)]);
}

#[test]
fn what_can_never_be_served_is_counted_with_a_reason() {
    let mut config = config(Synchronous, 64, 4);
    config.max_model_len = 100;
    let requests = [
        request(0, 0, 5),
        request(0, 5, 0),
        request(0, 60, 41),
        request(0, 60, 6),
        request(0, 60, 5),
    ];
    let report = run(&Linear::mixed(), config, &requests);
    let outcomes: Vec<Outcome> = report.records.iter().map(|r| r.outcome).collect();
    assert_eq!(
        outcomes[..4],
        [
            Outcome::Rejected(Rejection::EmptyPrompt),
            Outcome::Rejected(Rejection::EmptyOutput),
            Outcome::Rejected(Rejection::TooLong {
                tokens: 101,
                max_model_len: 100
            }),
            Outcome::Rejected(Rejection::TooManyBlocks {
                blocks: 5,
                kv_blocks: 4
            }),
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
