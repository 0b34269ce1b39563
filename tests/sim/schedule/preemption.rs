//! Preemptions whose nanoseconds were worked out by hand.

use super::{assert_times, chunk, config, decode, run, times};
use crate::support::{Linear, Seen, request, simulator};
use rooflut::engine::Scheduling::{OneStepAhead, Synchronous};
use rooflut::engine::{SelfPreemption, stacks};
use rooflut::sim::SchedulingPolicy;
use rooflut::sim::load::RequestList;

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
    for (rules, lost) in [(stacks::VLLM_0_11_0.rules, vec![chunk(1, 0, 0)]), (stacks::VLLM_0_15_1.rules, vec![])] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 64, 2).with_policy(SchedulingPolicy::Priority);
        config.rules = rules;
        config.rules.scheduling = Synchronous;
        let report = run(&model, config, &requests);
        assert_eq!((times(&report, 0).3, report.summary.preemptions), (1, 1), "{rules:?}");
        let batches = model.batches.borrow();
        assert_eq!(batches[2].decode, decode(2, 15 + 16));
        assert_eq!(batches[3].decode, decode(1, 17));
        assert_eq!(batches[3].prefill, lost);
        // It begins again when the other is done: 13 tokens of the prompt and 3 of the output, but for the counted one.
        let again = batches.iter().rev().find(|batch| !batch.prefill.is_empty());
        let counted = lost.len() as u32;
        assert_eq!(again.unwrap().prefill, [chunk(16 - counted, counted, 1)], "{rules:?}");
    }
}

#[test]
fn a_request_that_preempts_itself_ends_the_schedule_or_not() {
    // Two blocks; in the fourth step both requests need one more, the less urgent one first.
    let requests = [request(0, 14, 5).with_priority(1), request(1, 15, 5)];
    for (self_preemption, sleep_ns) in [(SelfPreemption::EndsPass, 1_000_000), (SelfPreemption::Continues, 0)] {
        let model = Linear::mixed();
        let mut config = config(Synchronous, 64, 2).with_policy(SchedulingPolicy::Priority);
        config.rules.self_preemption = self_preemption;
        let mut seen = Seen::default();
        simulator(&model, config).serve(&mut RequestList::new(&requests), &mut seen).unwrap();
        // 14 prompt tokens, then 15 beside a decode over 15 tokens, then two decodes over 16: 1140, 1265 and 1232.
        let fourth = seen.steps[3];
        assert_eq!(fourth.start_ns, 3_637 + sleep_ns);
        let late = u32::from(sleep_ns > 0);
        assert_eq!((fourth.decode_requests, fourth.late_decodes), (1, late));
        // Also if the schedule with the preemption was empty.
        assert_eq!(fourth.preempted, 1);
        // The fourth step takes 1117.
        assert!(seen.gaps_ns.contains(&(1_117 + sleep_ns)));
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
