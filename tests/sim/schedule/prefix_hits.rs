//! Prefix hits whose nanoseconds were worked out by hand.

use super::{assert_times, chunk, config, run, times};
use crate::support::{Batch, Linear, request};
use rooflut::engine::Scheduling::{OneStepAhead, Synchronous};
use rooflut::sim::Content;

#[test]
fn a_prefix_hit_is_not_computed_and_takes_no_block() {
    let hit = |cached_prompt_tokens| {
        let model = Linear::mixed();
        let request = request(0, 96, 1).with_cached_prompt_tokens(cached_prompt_tokens);
        let report = run(&model, config(Synchronous, 2_048, 100), &[request]);
        let batches = model.batches.borrow();
        let finish_ns = times(&report, 0).2;
        (batches[0].prefill[0], finish_ns, report.summary.kv.peak_blocks)
    };
    assert_eq!(hit(0), (chunk(96, 0, 1), 1_960, 6));
    assert_eq!(hit(50), (chunk(48, 48, 1), 1_480, 3));
    // Not the last token, and so not its block.
    assert_eq!(hit(96), (chunk(16, 80, 1), 1_160, 1));
}

#[test]
fn a_request_that_decodes_is_found_as_far_as_its_blocks_are_full() {
    let text = Content::Texts { prefix: 0, prefix_tokens: 0, own: 5 };
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
    let report = run(&model, config(Synchronous, 64, 4), &[request(0, 48, 3), hit]);
    // A fills three blocks and takes the fourth from B at its first decode; B waits until A is done.
    //    0  A: 48 prompt tokens; B: 8 after 32    1560
    // 1560  A: decodes at 49 and 50               1149 + 1150 = 2299
    // 3859  B: 9 after 32                         1090
    // 4949  B: eight decodes, at 42 to 49         8 x 1100 + 364 = 9164
    assert_times(&report, &[(0, 1_560, 3_859, 0), (0, 1_560, 14_113, 1)]);
    assert_eq!(model.batches.borrow()[3].prefill, [chunk(9, 32, 1)]);
    // 32 of 48 + 40 prompt tokens: what B finds again does not count.
    assert_eq!(report.summary.kv.prefix_hit_rate, Some(32.0 / 88.0));
}

#[test]
fn the_hit_rate_counts_the_full_blocks_of_a_shared_prefix() {
    let text = |own| Content::Texts { prefix: 9, prefix_tokens: 40, own };
    let requests = [0, 9_000, 18_000].map(|at_ns| request(at_ns, 64, 1).with_content(text(at_ns)));
    let report = run(&Linear::mixed(), config(Synchronous, 2_048, 100), &requests);
    let found: Vec<u32> = report.records.iter().map(|record| record.timing().unwrap().cached_tokens).collect();
    // Two blocks of 16 tokens lie within the 40; the first request finds them empty.
    assert_eq!(found, [0, 32, 32]);
    assert_eq!(report.summary.kv.prefix_hit_rate, Some(64.0 / 192.0));
}
