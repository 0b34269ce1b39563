//! What a step does not depend on: the order of its parts and those that are empty.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code outside of test functions"
)]

mod support;

use rooflut::step::{Chunk, DecodeGroup, LatencyModel, StepBatch, StepTime};
use rooflut::units::Seconds;
use support::models::{self, DEFAULT};
use support::random::Random;
use support::steps::Batch;

#[test]
fn the_order_of_chunks_and_groups_changes_no_bit() {
    let models = models::all(DEFAULT);
    let mut random = Random(2);
    for turn in 0..10_000 {
        let (sharded, model) = &models[turn % models.len()];
        let mut batch = Batch::random(&mut random);
        let before = model.step_time(&batch.as_step());
        random.shuffle(&mut batch.prefill);
        random.shuffle(&mut batch.decode);
        let after = model.step_time(&batch.as_step());
        assert_eq!(bits(&after), bits(&before), "{sharded:?} {batch:?}");
        assert_eq!(after, before, "{sharded:?} {batch:?}");
    }
}

/// The bits of all numbers of a step.
fn bits(time: &StepTime) -> Vec<u64> {
    let parts = time.parts().map(|part| part.time.0.to_bits());
    parts.chain([time.total().0.to_bits()]).collect()
}

#[test]
fn decode_requests_may_be_passed_one_by_one_or_as_sums() {
    let models = models::all(DEFAULT);
    let mut random = Random(3);
    for turn in 0..10_000 {
        let (sharded, model) = &models[turn % models.len()];
        let batch = Batch::random(&mut random);
        let mut split = batch.clone();
        split.decode.clear();
        for group in &batch.decode {
            let requests = random.between(0, u64::from(group.requests)) as u32;
            // A group without requests has no tokens.
            let kv_tokens = match requests {
                0 => 0,
                all if all == group.requests => group.kv_tokens,
                _ => random.between(0, group.kv_tokens),
            };
            split.decode.push(DecodeGroup {
                requests,
                kv_tokens,
                drafted: 0,
            });
            split.decode.push(DecodeGroup {
                requests: group.requests - requests,
                kv_tokens: group.kv_tokens - kv_tokens,
                drafted: 0,
            });
        }
        let step = batch.as_step();
        let sum = [DecodeGroup {
            requests: step.decode_requests() as u32,
            kv_tokens: step.decode_kv_tokens(),
            drafted: 0,
        }];
        let summed = StepBatch {
            decode: &sum,
            ..step
        };
        let expected = model.step_time(&step);
        assert_eq!(
            model.step_time(&split.as_step()),
            expected,
            "{sharded:?} {batch:?}"
        );
        assert_eq!(model.step_time(&summed), expected, "{sharded:?} {batch:?}");
    }
}

#[test]
fn a_batch_without_tokens_takes_no_time() {
    let empty_chunk = Chunk {
        new: 0,
        context: 5000,
        samples: 0,
    };
    let no_requests = DecodeGroup {
        requests: 0,
        kv_tokens: 0,
        drafted: 0,
    };
    for (_, model) in models::all(DEFAULT) {
        assert_eq!(model.step_time(&StepBatch::default()), StepTime::ZERO);
        let nothing = StepBatch {
            prefill: &[empty_chunk],
            decode: &[no_requests],
        };
        assert_eq!(model.step_time(&nothing), StepTime::ZERO);
        assert_eq!(model.step_time(&nothing).total(), Seconds::ZERO);
    }
}

#[test]
fn chunks_and_groups_without_tokens_change_nothing() {
    let model = models::llama(DEFAULT);
    let chunk = Chunk {
        new: 100,
        context: 200,
        samples: 1,
    };
    let group = DecodeGroup {
        requests: 3,
        kv_tokens: 3000,
        drafted: 0,
    };
    let plain = StepBatch {
        prefill: &[chunk],
        decode: &[group],
    };
    let empty_chunk = Chunk {
        new: 0,
        context: 5000,
        samples: 0,
    };
    let no_requests = DecodeGroup {
        requests: 0,
        kv_tokens: 0,
        drafted: 0,
    };
    let padded = StepBatch {
        prefill: &[empty_chunk, chunk],
        decode: &[no_requests, group],
    };
    assert_eq!(model.step_time(&padded), model.step_time(&plain));
}
