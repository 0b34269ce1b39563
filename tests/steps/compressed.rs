//! Steps of models with attention over compressed keys and hyper-connections.

use rooflut::engine::StepConstants;
use rooflut::hardware::{CompressedShape, Dtype, MoeShape, Side, StreamsShape, gpus};
use rooflut::model::{self, Attention, KvGroups, MemoryLimits, MemoryPlan, Span};
use rooflut::op::{AllReduce, CompressedDecode, CompressedPrefill, HyperConnection, Moe};
use rooflut::step::{Chunk, Part, StepModel, StepTime};
use rooflut::table::{Class, TableSet, sets};
use rooflut::units::Seconds;

use crate::support::models::{self, FITTED};
use crate::support::steps::{Batch, Sharded};

fn flash(tp: u32) -> Sharded {
    let spec = model::find("deepseek-v4-flash").unwrap().spec;
    Sharded { name: "deepseek-v4-flash", spec, tp, kv_dtype: Dtype::Fp8 }
}

fn step(set: &'static TableSet, tp: u32, constants: StepConstants, batch: &Batch) -> StepTime {
    models::on(set, &flash(tp), constants).step_time(&batch.as_step())
}

/// The layers of each kind, on one of `tp` ranks: a window alone, keys that an indexer selects, and all keys.
fn layers(tp: u32) -> [(f64, CompressedShape); 3] {
    let window = CompressedShape {
        dtype: Dtype::Fp8Block,
        q_heads: 64 / tp,
        hidden: 4096,
        q_rank: 1024,
        head_dim: 512,
        window: 128,
        ratio: 0,
        group_heads: 8,
        o_rank: 1024,
        index_heads: 0,
        index_dim: 0,
        index_top_k: 0,
    };
    let compressing = CompressedShape { ratio: 128, ..window };
    let selecting = CompressedShape { ratio: 4, index_heads: 64, index_dim: 128, index_top_k: 512, ..window };
    [(2.0, window), (21.0, selecting), (20.0, compressing)]
}

#[test]
fn each_layer_takes_the_time_of_its_table() {
    for (set, tp) in [(&sets::B300, 4), (&sets::H200, 8)] {
        let mut batch = Batch::decoding(64, 1_500);
        batch.prefill = vec![Chunk::prompt(2_048).unwrap(), Chunk::partial(512, 1_024).unwrap()];
        let found = step(set, tp, FITTED, &batch);
        let sum = |once: &dyn Fn(CompressedShape) -> f64| -> f64 {
            layers(tp).into_iter().map(|(layers, shape)| layers * once(shape)).sum()
        };
        let close = |part, expected: f64| {
            let found = found.part(part).0;
            assert!((found / expected - 1.0).abs() < 1e-9, "{part}: {found} {expected}");
        };
        close(
            Part::PrefillAttention,
            sum(&|shape| {
                let layer = CompressedPrefill::resolve(set, shape).unwrap();
                layer.at_chunks([[2_048, 0], [512, 512]]).time.0
            }),
        );
        close(
            Part::DecodeAttention,
            sum(&|shape| CompressedDecode::resolve(set, shape).unwrap().at(64, 96_000).time.0),
        );
        let has = |part| found.parts().any(|found| found.part == part);
        assert!(!has(Part::Qkv) && !has(Part::OProj) && has(Part::GateUp) && has(Part::Moe));
    }
}

#[test]
fn streams_are_mixed_around_attention_and_experts() {
    for tokens in [1, 64, 2_048] {
        let batch = Batch::chunk(tokens, 0);
        let found = step(&sets::B300, 1, StepConstants::NONE, &batch);
        let side = |side| {
            let shape = StreamsShape { side, hidden: 4096, streams: 4 };
            HyperConnection::resolve(&sets::B300, shape).unwrap().at(tokens).time.0
        };
        let mixing = 43.0 * 2.0 * (side(Side::Before) + side(Side::After));
        let small = found.parts().find(|part| part.part == Part::SmallKernels).unwrap();
        let fitted = small.time.0 * small.source.fitted_share();
        assert!(((small.time.0 - fitted) / mixing - 1.0).abs() < 1e-6, "{tokens}");
        assert!(small.source.provenance().unwrap().class <= Class::Interpolated);
    }
}

#[test]
fn experts_of_mxfp4_run_as_they_were_measured() {
    let experts = |set, dtype| {
        let shape =
            MoeShape { dtype, experts: 256, top_k: 6, hidden: 4096, intermediate: 2048, tp: 1, ep: 1, matrices: 3 };
        Moe::resolve(set, shape).unwrap()
    };
    assert_eq!(experts(&sets::B300, Dtype::Mxfp4Mxfp8).class(), Class::Measured);
    let class = |set| {
        let found = step(set, 1, StepConstants::NONE, &Batch::chunk(8_192, 0));
        found.parts().find(|part| part.part == Part::Moe).unwrap().source.provenance().unwrap().class
    };
    assert_eq!(
        [class(&sets::B300), class(&sets::B200), class(&sets::H200)].map(|class| class == Class::Measured),
        [true, true, false]
    );
}

#[test]
fn all_reduces_have_no_norm_to_be_fused_with() {
    let us = Seconds::from_us;
    let fusing = StepConstants::NONE.with_fused_all_reduce(us(6.0)).with_fused_all_reduce_bandwidth(0.5);
    let batch = Batch::decoding(8, 1_000);
    let found = step(&sets::B300, 4, fusing, &batch).part(Part::AllReduce).0;
    let once = AllReduce::resolve(&sets::B300, rooflut::hardware::AllReduceShape { ranks: 4 }).unwrap();
    let table = once.at(8 * 4096 * 2).time.0;
    assert!((found / (86.0 * table) - 1.0).abs() < 1e-6, "{found} {table}");
}

#[test]
fn the_host_launches_attention_as_it_does_that_with_states() {
    let constants =
        StepConstants::NONE.with_cuda_graph_max_tokens(512).with_prompt_state_layer(Seconds::from_us(300.0));
    let host = |batch| step(&sets::B300, 1, constants, &batch).part(Part::Host).0 * 1e6;
    assert!((host(Batch::chunk(64, 0)) - 43.0 * 300.0).abs() < 1e-6);
    assert_eq!(host(Batch::decoding(4, 1_000)), 0.0);
}

#[test]
fn a_request_holds_compressed_keys_of_all_tokens_and_a_window_of_others() {
    let spec = flash(1).spec;
    let bytes: f64 =
        spec.layers.iter().map(|group| f64::from(group.layers) * group.attention.kv_bytes(4, Dtype::Bf16)).sum();
    // 584 bytes and a key of 132 for each four tokens, 584 for each 128.
    assert!((bytes - (21.0 * 716.0 / 4.0 + 20.0 * 584.0 / 128.0)).abs() < 1e-9);
    let groups = KvGroups::of(&spec, 4);
    assert_eq!((groups.full, groups.span, groups.states), (1, Span::Window(128), 0));
    // The window: 43 vectors, 20 sums of 4,096 bytes, and 21 of 10,240 for 8 of its tokens.
    let window = 43.0 * 584.0 + 20.0 * 4096.0 + 21.0 * 10_240.0 * 8.0 / 128.0;
    assert!((f64::from(groups.limited) - window / bytes).abs() <= 0.5, "{groups:?}");
    let plan = |kv_dtype| {
        let limits = MemoryLimits::default().with_kv_dtype(kv_dtype);
        MemoryPlan::try_new(&spec, &gpus::B300, 1, limits).unwrap()
    };
    assert_eq!(plan(Dtype::Fp8).kv_blocks, plan(Dtype::Bf16).kv_blocks);
    assert!((plan(Dtype::Fp8).bytes_per_block - 16.0 * bytes).abs() < 1e-6);
    // Experts in MXFP4, embedding and lm_head in 16 bits, hyper-connections in 32. The rest is 6.2 billion weights in 8
    // bits, of which 0.3 billion in 16, and 16-bit routers and rotary tables.
    let experts = 43.0 * 256.0 * 3.0 * 4096.0 * 2048.0 * Dtype::Mxfp4.weight_bytes();
    let known = experts + 2.0 * 2.0 * 129_280.0 * 4096.0 + 43.0 * 2.0 * 4.0 * 24.0 * 4096.0 * 4.0;
    let rest = plan(Dtype::Fp8).weight_bytes - known;
    assert!((6.83e9..6.84e9).contains(&rest), "{rest}");
    let Attention::Compressed(_) = spec.layers.first().attention else { panic!("compressed keys") };
    assert!(spec.mtp_layer().is_err());
}
