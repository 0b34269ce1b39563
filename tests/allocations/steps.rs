//! Neither lookups nor steps allocate, proved by a counting allocator.

use std::hint::black_box;

use crate::support::made_up::RAGGED;
use crate::support::{attention, gemm, mixtral_layer, steps};
use allocation_counter::{AllocationInfo, measure};
use rooflut::hardware::{AllReduceShape, Dtype};
use rooflut::op::{AllReduce, ChunkSums, DecodeAttention, Gemm, Moe, PrefillAttention};
use rooflut::step::{Binding, Chunk, DecodeGroup, Parallelism, Part, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::{Class, Strictness, TableSet, sets};

fn free(what: &str, work: impl FnOnce()) {
    let AllocationInfo { count_total, bytes_total, .. } = measure(work);
    assert_eq!((count_total, bytes_total), (0, 0), "{what}");
}

#[test]
fn the_counter_counts() {
    let info = measure(|| drop(black_box(vec![1_u8; 100])));
    assert_eq!((info.count_total, info.bytes_total), (1, 100));
}

#[test]
fn resolving_and_looking_up_a_kernel_allocate_nothing() {
    let set: &'static TableSet = &sets::H100;
    free("gemm", || {
        // Measured, inside the rectangle, outside, 8-bit, refused.
        for (dtype, k, n) in [
            (Dtype::Bf16, 4096, 4096),
            (Dtype::Bf16, 4096, 6144),
            (Dtype::Bf16, 100, 128_256),
            (Dtype::Fp8, 4096, 6144),
            (Dtype::Fp8Block, 4096, 6144),
        ] {
            if let Ok(gemm) = Gemm::resolve(set, gemm(dtype, k, n)) {
                for m in [0, 1, 100, 1024, u32::MAX] {
                    black_box((gemm.at(m), gemm.at(m).mfu()));
                }
                black_box(gemm.matched().last());
            }
        }
        // No rectangle.
        black_box(Gemm::resolve(&RAGGED, gemm(Dtype::Bf16, 2048, 2048))).ok();
    });
    free("attention", || {
        for (q_heads, kv_heads, tp) in [(32, 8, 1), (64, 8, 4), (96, 12, 1), (0, 0, 0)] {
            let shape = attention(Dtype::Bf16, q_heads, kv_heads, tp);
            if let Ok(decode) = DecodeAttention::resolve(set, shape) {
                for kv_tokens in [0, 50, 1024, 5000, 131_072 * 512, u64::MAX] {
                    black_box((decode.at(1, kv_tokens), decode.at(512, kv_tokens)));
                }
            }
            if let Ok(prefill) = PrefillAttention::resolve(set, shape) {
                let mut chunks = ChunkSums::default();
                for length in [0, 10, 1024, 5000, u32::MAX] {
                    chunks.add(length, length / 2);
                    black_box((prefill.at(1, length), prefill.at_chunks(&chunks)));
                }
            }
        }
    });
    free("all-reduce", || {
        for ranks in [0, 2, 3, 8, 16] {
            if let Ok(all_reduce) = AllReduce::resolve(set, AllReduceShape { ranks }) {
                black_box((all_reduce.at(1 << 20), all_reduce.at(12_345)));
            }
        }
    });
    free("moe", || {
        for tp in [0, 1, 2, 3] {
            if let Ok(moe) = Moe::resolve(set, mixtral_layer(tp)) {
                black_box((moe.at(64), moe.at(100_000)));
            }
        }
    });
}

#[test]
fn making_a_step_model_and_stepping_allocate_nothing() {
    let chunk = Chunk::last(500, 1_500).unwrap();
    let group = DecodeGroup::uniform(20, 3_000).unwrap();
    let (prefill, decode) = ([chunk; 16], [group; 16]);
    let batches = [
        StepBatch::default(),
        StepBatch { prefill: &prefill, decode: &[] },
        StepBatch { prefill: &[], decode: &decode },
        StepBatch { prefill: &prefill, decode: &decode },
    ];
    let all = steps::all();
    free("step", || {
        for sharded in &all {
            let parallelism = Parallelism::tensor(sharded.tp);
            let options = StepOptions::default().with_kv_dtype(sharded.kv_dtype);
            let model = RooflineModel::try_new(&sharded.spec, &sets::H100, parallelism, options);
            for batch in &batches {
                if let Ok(model) = &model {
                    let time = model.step_time(batch);
                    let parts = time.parts().map(|part| part.time).sum::<rooflut::units::Seconds>();
                    black_box((time.total(), parts, time.part(Part::Moe), time.provenance()));
                    black_box((time.binding(), time.bound_by(Binding::Memory)));
                }
            }
            // An error does not allocate either.
            let options = options.with_strictness(Strictness::at_worst(Class::Measured));
            let refused = RooflineModel::try_new(&sharded.spec, &sets::H100, parallelism, options);
            assert!(model.is_ok() && refused.is_err());
        }
    });
}
