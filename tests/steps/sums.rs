//! Steps do not depend on the order of their parts, nor on empty parts.

use crate::support::models::{self, FITTED};
use rooflut::step::{DecodeGroup, StepBatch, StepModel, StepTime};
use rooflut::units::Seconds;

#[test]
fn the_order_of_chunks_and_groups_changes_no_bit() {
    models::random_steps(FITTED, 2, 10_000, |random, sharded, model, mut batch| {
        let before = model.step_time(&batch.as_step());
        random.shuffle(&mut batch.prefill);
        random.shuffle(&mut batch.decode);
        let after = model.step_time(&batch.as_step());
        assert_eq!(bits(&after), bits(&before), "{sharded:?} {batch:?}");
        assert_eq!(after, before, "{sharded:?} {batch:?}");
    });
}

/// The bits of all numbers of a step.
fn bits(time: &StepTime) -> Vec<u64> {
    let parts = time.parts().map(|part| part.time.0.to_bits());
    parts.chain([time.total().0.to_bits()]).collect()
}

#[test]
fn decode_requests_may_be_passed_one_by_one_or_as_sums() {
    models::random_steps(FITTED, 3, 10_000, |random, sharded, model, batch| {
        if batch.decode.is_empty() {
            return;
        }
        let mut split = batch.clone();
        split.decode.clear();
        for group in &batch.decode {
            let (requests, kv_tokens) = (group.requests(), group.kv_tokens());
            if requests == 1 {
                split.decode.push(*group);
                continue;
            }
            // Each request has at least one KV token.
            let first = random.between(1, u64::from(requests) - 1) as u32;
            let others = requests - first;
            let first_tokens = random.between(first.into(), kv_tokens - u64::from(others));
            let part = |requests, kv_tokens| DecodeGroup::from_sum(requests, kv_tokens).unwrap();
            split.decode.push(part(first, first_tokens));
            split.decode.push(part(others, kv_tokens - first_tokens));
        }
        let step = batch.as_step();
        let sum = DecodeGroup::from_sum(step.decode_requests() as u32, step.decode_kv_tokens());
        let summed = StepBatch { decode: &[sum.unwrap()], ..step };
        let expected = model.step_time(&step);
        assert_eq!(model.step_time(&split.as_step()), expected, "{sharded:?} {batch:?}");
        assert_eq!(model.step_time(&summed), expected, "{sharded:?} {batch:?}");
    });
}

#[test]
fn a_batch_without_tokens_takes_no_time() {
    for (_, model) in models::all(FITTED) {
        assert_eq!(model.step_time(&StepBatch::default()), StepTime::ZERO);
        assert_eq!(model.step_time(&StepBatch::default()).total(), Seconds::ZERO);
    }
}
