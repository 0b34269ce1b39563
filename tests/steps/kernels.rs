//! The list of a step's kernels agrees with its parts, and their work with counts by hand.

use crate::support::models::{self, FITTED};
use rooflut::model::{Attention, Ffn};
use rooflut::step::{Chunk, DecodeGroup, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions, StepTime};
use rooflut::table::sets;

/// Checks that the kernels of each part add up to its time, and that those with FLOPs or messages name their operation.
fn check(model: &RooflineModel, batch: &StepBatch<'_>, context: &str) {
    let time: StepTime = model.step_time(batch);
    let kernels = model.step_kernels(batch);
    for part in time.parts() {
        let of_part = kernels.iter().filter(|kernel| kernel.part == part.part);
        let sum: f64 = of_part.map(|kernel| kernel.time.0).sum();
        assert!((sum - part.time.0).abs() <= 1e-12 * part.time.0, "{context}: {part:?} {sum}");
    }
    let all: f64 = kernels.iter().map(|kernel| kernel.time.0).sum();
    assert!((all - time.total().0).abs() <= 1e-12 * all, "{context}: {all} {time:?}");
    for kernel in &kernels {
        assert_eq!(kernel.operation.is_some(), kernel.work.is_some_and(|work| work.flops + work.link_bytes > 0.0));
    }
}

#[test]
fn the_kernels_of_a_part_add_up_to_its_time() {
    models::random_steps(FITTED, 4, 2_000, |_, sharded, model, batch| {
        check(model, &batch.as_step(), &format!("{sharded:?} {batch:?}"));
    });
}

#[test]
fn ranks_that_share_experts_and_pipeline_stages_list_all_of_their_kernels() {
    let decode = [DecodeGroup::uniform(64, 1_000).unwrap()];
    let batch = StepBatch { prefill: &[Chunk::prompt(300).unwrap()], decode: &decode };
    for (name, parallelism) in [
        ("qwen3-30b-a3b", Parallelism::tensor(2).with_dp(2)),
        ("qwen3-30b-a3b", Parallelism::tensor(1).with_dp(4)),
        ("llama-3.1-70b", Parallelism::tensor(2).with_pp(4)),
        ("llama-3.1-70b", Parallelism::tensor(16)),
    ] {
        let spec = models::spec(name);
        let model = RooflineModel::try_new(&spec, &sets::H100, parallelism, StepOptions::default()).unwrap();
        check(&model, &batch, &format!("{name} {parallelism:?}"));
    }
}

#[test]
fn the_flops_of_a_dense_model_are_twice_its_weights_per_token_and_its_attention() {
    let spec = models::spec("llama-3.1-8b");
    let group = spec.layers[0];
    let (Attention::Gqa(heads), Ffn::Dense { intermediate, .. }) = (group.attention, group.ffn) else {
        panic!("{spec:?}")
    };
    let [hidden, width, q, kv, layers, vocab] = [
        spec.hidden,
        intermediate,
        heads.q_heads * heads.head_dim,
        heads.kv_heads * heads.head_dim,
        group.layers,
        spec.vocab,
    ]
    .map(f64::from);
    let weights = hidden * (q + 2.0 * kv) + q * hidden + 3.0 * hidden * width;
    let model = models::llama(FITTED);
    let (prompt, decode) = ([Chunk::prompt(512).unwrap()], [DecodeGroup::uniform(64, 1_000).unwrap()]);
    // Pairs of a query and a key, and keys: of a causal prompt, and of decoding requests.
    for (batch, tokens, rows, pairs, keys) in [
        (StepBatch { prefill: &prompt, decode: &[] }, 512.0, 1.0, 512.0 * 513.0 / 2.0, 512.0),
        (StepBatch { prefill: &[], decode: &decode }, 64.0, 64.0, 64.0 * 1_000.0, 64.0 * 1_000.0),
    ] {
        let expected = layers * (2.0 * tokens * weights + 4.0 * q * pairs) + 2.0 * rows * hidden * vocab;
        let kernels = model.step_kernels(&batch);
        let found: f64 = kernels.iter().filter_map(|kernel| kernel.work).map(|work| work.flops).sum();
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
        // Weights and KV entries are read once, in 16 bits; activations are on top.
        let bytes: f64 = kernels.iter().filter_map(|kernel| kernel.work).map(|work| work.bytes).sum();
        let least = 2.0 * (layers * (weights + 2.0 * kv * keys) + hidden * vocab);
        assert!(bytes > least && bytes < 1.4 * least, "{bytes} {least}");
    }
}
