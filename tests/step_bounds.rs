//! What holds for every step of every model: physics, and what a step does not depend on.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code outside of test functions"
)]

mod support;

use rooflut::hardware::Dtype;
use rooflut::model::{CATALOG, Ffn};
use rooflut::op::{AllReduce, DecodeAttention, Gemm, Moe};
use rooflut::step::{
    Chunk, DecodeGroup, LatencyModel, Overheads, Parallelism, Part, RooflineModel, StepBatch,
    StepOptions, StepTime,
};
use rooflut::table::{Provenance, sets};
use rooflut::units::Seconds;
use support::made_up::TOO_FAST;
use support::random::Random;
use support::steps::{self, Batch, Sharded};
use support::tolerances::{ROUNDING, STORED_LN_F32};
use support::{apart, oracle, tables};

fn model_with(sharded: &Sharded, overheads: Overheads) -> RooflineModel {
    let mut options = StepOptions::default();
    options.kv_dtype = sharded.kv_dtype;
    options.overheads = overheads;
    let parallelism = Parallelism::tensor(sharded.tp);
    match RooflineModel::try_new(&sharded.spec, &sets::H100, parallelism, options) {
        Ok(model) => model,
        Err(error) => panic!("{sharded:?}: {error}"),
    }
}

fn models() -> Vec<(Sharded, RooflineModel)> {
    let all = steps::all().into_iter();
    all.map(|sharded| (sharded, model_with(&sharded, Overheads::default())))
        .collect()
}

/// 8 billion parameters on one GPU.
fn llama() -> (Sharded, RooflineModel) {
    let models = models().into_iter();
    let mut llama = models.filter(|(sharded, _)| sharded.name == "llama-3.1-8b");
    llama.next().unwrap()
}

#[test]
fn every_model_of_the_catalogue_can_be_stepped_at_some_tp() {
    let all = steps::all();
    for entry in &CATALOG {
        assert!(
            all.iter().any(|sharded| sharded.name == entry.name),
            "{}",
            entry.name
        );
    }
    assert!(all.len() > 2 * CATALOG.len());
}

#[test]
fn no_step_of_100_000_is_faster_than_compute_memory_or_link() {
    let tables = tables::h100();
    let mut random = Random(0x0057_3950);
    // Overheads add time, so without them the bounds are tighter.
    let all: Vec<_> = steps::all()
        .into_iter()
        .map(|sharded| (sharded, model_with(&sharded, Overheads::NONE)))
        .collect();
    for turn in 0..100_000 {
        let (sharded, model) = &all[turn % all.len()];
        let batch = Batch::random(&mut random);
        let time = model.step_time(&batch.as_step());
        let total = time.total().0;
        let [compute, memory, link] = sharded.floors(tables, &batch);
        assert!(
            total.is_finite() && total > 0.0,
            "{sharded:?} {batch:?}: {time:?}"
        );
        for floor in [compute, memory, link] {
            let floor_is_kept = total >= floor * (1.0 - ROUNDING);
            assert!(
                floor_is_kept,
                "{sharded:?} {batch:?}: {total} of {floor}\n{time:?}"
            );
        }
        let parts: f64 = time.parts().map(|part| part.time.0).sum();
        assert!(
            apart(parts, total) < ROUNDING,
            "{sharded:?} {batch:?}: {parts} of {total}"
        );
        for part in time.parts() {
            assert!(
                part.time.0.is_finite() && part.time.0 > 0.0,
                "{sharded:?} {part:?}"
            );
        }
        assert!(time.part(Part::AllReduce).0 >= link * (1.0 - ROUNDING));
        assert_eq!(time.part(Part::AllReduce).0 > 0.0, sharded.tp > 1);
    }
}

#[test]
fn tables_that_beat_physics_are_held_to_the_bound_part_by_part() {
    let mut random = Random(6);
    for sharded in steps::all()
        .iter()
        .filter(|sharded| sharded.kv_dtype == Dtype::Bf16)
    {
        let mut options = StepOptions::default();
        options.overheads = Overheads::NONE;
        let parallelism = Parallelism::tensor(sharded.tp);
        let mut spec = sharded.spec;
        if let Ffn::Moe { expert_dtype, .. } = &mut spec.ffn {
            *expert_dtype = Dtype::Bf16;
        }
        let sharded = Sharded { spec, ..*sharded };
        let model = RooflineModel::try_new(&spec, &TOO_FAST, parallelism, options).unwrap();
        for _ in 0..20 {
            let batch = Batch::random(&mut random);
            let time = model.step_time(&batch.as_step());
            for (part, bound) in sharded.part_bounds(tables::h100(), &batch) {
                let found = time.part(part).0;
                // The bytes of context come on top of what the tables say.
                let held = apart(found, bound) < ROUNDING
                    || part == Part::PrefillAttention && found > bound;
                assert!(held, "{sharded:?} {batch:?}: {part}: {found} of {bound}");
            }
        }
    }
}

#[test]
fn the_order_of_chunks_and_groups_changes_no_bit() {
    let models = models();
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
    let models = models();
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
            });
            split.decode.push(DecodeGroup {
                requests: group.requests - requests,
                kv_tokens: group.kv_tokens - kv_tokens,
            });
        }
        let step = batch.as_step();
        let sum = [DecodeGroup {
            requests: step.decode_requests() as u32,
            kv_tokens: step.decode_kv_tokens(),
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
    };
    for (_, model) in models() {
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
    let (_, model) = llama();
    let chunk = Chunk {
        new: 100,
        context: 200,
        samples: 1,
    };
    let group = DecodeGroup {
        requests: 3,
        kv_tokens: 3000,
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
    };
    let padded = StepBatch {
        prefill: &[empty_chunk, chunk],
        decode: &[no_requests, group],
    };
    assert_eq!(model.step_time(&padded), model.step_time(&plain));
}

#[test]
fn steps_at_the_end_of_the_integers_are_finite() {
    let whole = [Chunk {
        new: u32::MAX,
        context: u32::MAX,
        samples: u32::MAX,
    }; 3];
    let most = [DecodeGroup {
        requests: u32::MAX,
        kv_tokens: u64::MAX,
    }; 3];
    let too_few = [DecodeGroup {
        requests: 500,
        kv_tokens: 0,
    }];
    for (sharded, model) in models() {
        for decode in [&most[..], &most[..1], &too_few[..], &[][..]] {
            for prefill in [&whole[..], &whole[..1], &[][..]] {
                let batch = StepBatch { prefill, decode };
                let total = model.step_time(&batch).total().0;
                assert!(total.is_finite(), "{sharded:?}: {total}");
                assert_eq!(total > 0.0, !batch.is_empty(), "{sharded:?}: {total}");
            }
        }
    }
}

#[test]
fn a_decode_group_cannot_have_fewer_kv_tokens_than_requests() {
    let (_, model) = llama();
    let of = |kv_tokens| {
        let decode = [DecodeGroup {
            requests: 64,
            kv_tokens,
        }];
        model.step_time(&StepBatch {
            prefill: &[],
            decode: &decode,
        })
    };
    assert_eq!(of(0), of(64));
    assert!(of(64_000).total() > of(64).total());
}

#[test]
fn overheads_are_added_on_top_of_the_kernels() {
    let mut random = Random(4);
    for sharded in steps::all() {
        let (with, without) = (
            model_with(&sharded, Overheads::default()),
            model_with(&sharded, Overheads::NONE),
        );
        let batch = Batch::random(&mut random);
        let step = batch.as_step();
        // 19 us per layer, 0.17 ms per million logits.
        let logits = step.sampled_tokens() as f64 * f64::from(sharded.spec.vocab);
        let added = 19e-6 * f64::from(sharded.spec.layers) + 0.17e-9 * logits;
        let found = with.step_time(&step).total().0 - without.step_time(&step).total().0;
        let rounding = ROUNDING * with.step_time(&step).total().0;
        assert!(
            (found - added).abs() < rounding,
            "{sharded:?}: {found} for {added}"
        );
    }
}

#[test]
fn every_part_of_a_step_is_its_kernel_times_the_layers() {
    let set = tables::h100();
    let models = models();
    let mut random = Random(5);
    for turn in 0..3_000 {
        let (sharded, model) = &models[turn % models.len()];
        let batch = Batch::random(&mut random);
        let time = model.step_time(&batch.as_step());
        let expected = expected_parts(set, sharded, &batch);
        let mut worst = Provenance::Measured;
        for part in Part::ALL {
            let of_part = || expected.iter().filter(|(name, ..)| *name == part.name());
            let seconds: f64 = of_part().map(|(_, seconds, _)| seconds).sum();
            let found = time.part(part).0;
            let close = (found - seconds).abs() <= STORED_LN_F32 * seconds;
            assert!(
                close,
                "{sharded:?} {batch:?}: {part}: {found} for {seconds}"
            );
            worst = of_part()
                .map(|(.., provenance)| *provenance)
                .fold(worst, Provenance::max);
        }
        assert_eq!(time.provenance(), worst, "{sharded:?} {batch:?}");
    }
}

/// Part, seconds, provenance of all kernels of a step, from the naive oracle of each.
fn expected_parts(
    set: &tables::Tables,
    sharded: &Sharded,
    batch: &Batch,
) -> Vec<(&'static str, f64, Provenance)> {
    let step = batch.as_step();
    let (m, rows) = (step.tokens(), step.sampled_tokens());
    let layers = f64::from(sharded.spec.layers);
    let bandwidth = set.gpu.bandwidth;
    let mut parts = Vec::new();
    for call in sharded.gemms(m, rows) {
        let (k, n) = (f64::from(call.shape.k), f64::from(call.shape.n));
        let (weight, activation) = (
            oracle::weight_bytes(call.shape.dtype),
            oracle::activation_bytes(call.shape.dtype),
        );
        let tokens = call.rows as f64;
        let bytes = tokens * k * activation + k * n * weight + tokens * n * 2.0;
        let answer = oracle::gemm(set, call.shape, call.rows as u32);
        let seconds = answer.seconds.max(bytes / bandwidth);
        parts.push((call.part, seconds * call.times, answer.provenance));
    }
    if let Some(experts) = sharded.experts() {
        let answer = oracle::moe(set, experts, m as u32);
        let hidden = f64::from(experts.hidden);
        let width = f64::from(experts.intermediate) / f64::from(sharded.tp);
        let weights = f64::from(experts.top_k) * 3.0 * hidden * width;
        let activations = m as f64 * hidden * (oracle::activation_bytes(experts.dtype) + 2.0);
        let bytes = weights * oracle::weight_bytes(experts.dtype) + activations;
        let seconds = answer.seconds.max(bytes / bandwidth);
        parts.push(("moe", seconds * layers, answer.provenance));
    }
    if !batch.prefill.is_empty() {
        let shape = sharded.attention_shape(sharded.kv_dtype);
        let chunks: Vec<_> = batch
            .prefill
            .iter()
            .map(|chunk| (chunk.new, chunk.context))
            .collect();
        let answer = oracle::prefill(set, shape, &chunks);
        let seconds = answer
            .seconds
            .max(oracle::prefill_work(shape, &chunks).1 / bandwidth);
        parts.push(("prefill_attention", seconds * layers, answer.provenance));
    }
    if !batch.decode.is_empty() {
        let shape = sharded.attention_shape(sharded.kv_dtype);
        let (requests, kv_tokens) = (step.decode_requests(), step.decode_kv_tokens());
        let answer = oracle::cold_decode(set, shape, requests as u32, kv_tokens);
        let (_, bytes) = oracle::decode_work(shape, requests as f64, kv_tokens as f64);
        let seconds = answer.seconds.max(bytes / bandwidth);
        parts.push(("decode_attention", seconds * layers, answer.provenance));
    }
    let hidden = f64::from(sharded.spec.hidden);
    if sharded.tp > 1 {
        let bytes = m * u64::from(sharded.spec.hidden) * 2;
        let answer = oracle::allreduce(set, sharded.tp, bytes);
        let seconds = answer.seconds.max(bytes as f64 / set.gpu.link);
        parts.push(("all_reduce", seconds * 2.0 * layers, answer.provenance));
    }
    // Two norms with residual, rotary embedding, KV write, activation; 19 us of launches.
    let qkv = &sharded.gemms(m, rows)[0].shape;
    let q_width = f64::from(sharded.gemms(m, rows)[1].shape.k);
    let kv_width = (f64::from(qkv.n) - q_width) / 2.0;
    let gated: f64 = sharded
        .gemms(m, rows)
        .iter()
        .filter(|call| call.part == "down")
        .map(|call| f64::from(call.shape.k))
        .sum();
    let values = 2.0 * 4.0 * hidden + 2.0 * (q_width + kv_width) + 4.0 * kv_width + 3.0 * gated;
    let small = 19e-6 + m as f64 * values * 2.0 / bandwidth;
    parts.push(("small_kernels", small * layers, Provenance::Measured));
    if rows > 0 {
        let logits = rows as f64 * f64::from(sharded.spec.vocab);
        let sampling = 0.17e-9 * logits + logits * 4.0 / bandwidth;
        parts.push(("sampling", sampling, Provenance::Measured));
    }
    parts
}

#[test]
fn a_step_on_measured_points_is_made_of_table_rows() {
    // Mixtral 8x7B on two GPUs at 64 tokens: everything but lm_head, router and the shapes of the
    // attention projections was measured.
    let sharded = *steps::all()
        .iter()
        .find(|sharded| sharded.name == "mixtral-8x7b-v0.1" && sharded.tp == 2)
        .unwrap();
    let model = model_with(&sharded, Overheads::NONE);
    let decode = [DecodeGroup {
        requests: 64,
        kv_tokens: 64 * 4096,
    }];
    let time = model.step_time(&StepBatch {
        prefill: &[],
        decode: &decode,
    });
    let set = &sets::H100;
    let moe = Moe::resolve(set, sharded.experts().unwrap())
        .unwrap()
        .at(64);
    let calls = sharded.gemms(64, 64);
    let router = calls.iter().find(|call| call.part == "router").unwrap();
    let router = Gemm::resolve(set, router.shape).unwrap().at(64);
    for (part, kernel) in [(Part::Moe, moe), (Part::Router, router)] {
        assert!(apart(time.part(part).0, 32.0 * kernel.time.0) < ROUNDING);
    }
    // 268 MB of KV entries on a rank: memory in the benchmark, too.
    let attention = DecodeAttention::resolve(set, sharded.attention_shape(Dtype::Bf16)).unwrap();
    let attention = attention.at(64, 64 * 4096);
    assert_eq!(attention.provenance, Provenance::Measured);
    let found = time.part(Part::DecodeAttention).0;
    assert!(apart(found, 32.0 * attention.time.0) < STORED_LN_F32);
    let ranks = rooflut::hardware::AllReduceShape { ranks: 2 };
    let all_reduce = AllReduce::resolve(set, ranks).unwrap().at(64 * 4096 * 2);
    assert_eq!(all_reduce.provenance, Provenance::Measured);
    assert!(apart(time.part(Part::AllReduce).0, 64.0 * all_reduce.time.0) < ROUNDING);
}
