//! Runs over an EAGLE-3 head: `fc` once a step, a layer that reads hidden state and embedding, an lm_head of its own.

use crate::support::models;
use rooflut::hardware::{Dtype, gpus};
use rooflut::model::{MemoryLimits, MemoryPlan, ModelSpec, ModelSpecBuilder};
use rooflut::step::{
    Chunk, DecodeGroup, Drafting, LatencyModel, Parallelism, Part, RooflineModel, StepBatch, StepModel, StepOptions,
    StepTime,
};
use rooflut::table::{TableSet, sets};

const TP: u32 = 2;

/// A layer for Llama-3.1-8B, or one as wide.
fn layer() -> ModelSpecBuilder {
    let layer = ModelSpec::builder().hidden(4096).layers(1).intermediate(14_336).max_model_len(131_072);
    layer.q_heads(32).kv_heads(8).head_dim(128)
}

fn head() -> ModelSpec {
    layer().target_hidden(4096).aux_states(3).draft_vocab(32_000).vocab(128_256).build().unwrap()
}

fn model(spec: &ModelSpec, set: &TableSet, tp: u32) -> RooflineModel {
    RooflineModel::try_new(spec, set, Parallelism::tensor(tp), StepOptions::default()).unwrap()
}

fn first_run(spec: &ModelSpec, set: &TableSet, tp: u32) -> RooflineModel {
    RooflineModel::try_new_first_run(spec, set, Parallelism::tensor(tp), StepOptions::default()).unwrap()
}

fn time(model: &impl StepModel, prefill: &[Chunk], group: DecodeGroup) -> StepTime {
    let decode = &[group];
    model.step_time(&StepBatch { prefill, decode })
}

fn decode(requests: u32, drafted: u32) -> DecodeGroup {
    let group = DecodeGroup::uniform(requests, 1_000).unwrap();
    group.with_drafted(drafted).unwrap()
}

/// Returns the time of a 16-bit GEMM of `tokens` rows: as the QKV projection of a model.
fn qkv(k: u32, n: u32, set: &TableSet, tokens: u32) -> f64 {
    let heads = n / 128 - 2;
    let wide = ModelSpec::builder().hidden(k).layers(1).q_heads(heads).kv_heads(1).head_dim(128).intermediate(128);
    let wide = wide.vocab(8_000).max_model_len(131_072).build().unwrap();
    time(&model(&wide, set, 1), &[], decode(tokens, 0)).part(Part::Qkv).0
}

#[test]
fn a_further_run_projects_hidden_states_and_embeddings_to_a_layer_and_the_drafted_vocabulary() {
    let (group, set) = (decode(64, 0), &sets::H100);
    let with_vocab = |vocab| time(&model(&layer().vocab(vocab).build().unwrap(), set, TP), &[], group);
    let (plain, full) = (with_vocab(32_000), with_vocab(128_256));
    let found = time(&model(&head(), set, TP), &[], group);
    for part in plain.parts().map(|part| part.part).filter(|part| *part != Part::Qkv) {
        // vLLM samples from the logits of the whole vocabulary, those of other tokens at minus infinity.
        let expected = if part == Part::Sampling { &full } else { &plain };
        assert_eq!(found.part(part), expected.part(part), "{part}");
    }
    // Two hidden states wide: 16 query heads, and key and value of 4 heads, on each of two GPUs.
    assert_eq!(found.part(Part::Qkv).0, qkv(8_192, (16 + 2 * 4) * 128, set, 64));
}

#[test]
fn the_first_run_has_fc_over_all_tokens_and_a_row_for_each_request() {
    let set = &sets::H100;
    let (first, further) = (first_run(&head(), set, TP), model(&head(), set, TP));
    let (found, alone) = (time(&first, &[], decode(16, 3)), time(&further, &[], decode(16, 3)));
    let fc = found.part(Part::Qkv).0 - alone.part(Part::Qkv).0;
    // Three hidden states to one, whole on each GPU, for 64 tokens.
    let expected = qkv(3 * 4_096, 4_096, set, 64);
    assert!((fc / expected - 1.0).abs() < 1e-9, "{fc} {expected}");
    // Not faster than its FLOPs at the peak, nor than its weights from memory.
    let (weights, gpu) = (12_288.0 * 4_096.0, set.gpu());
    let flops_s = 2.0 * 64.0 * weights / gpu.peak_flops_per_s(Dtype::Bf16).unwrap();
    assert!(fc > flops_s && fc > 2.0 * weights / gpu.mem_bw_bytes_per_s);
    let rows = time(&further, &[], decode(16, 0));
    for part in [Part::LmHead, Part::Sampling] {
        assert_eq!(found.part(part), rows.part(part), "{part}");
    }
}

#[test]
fn latent_heads_project_the_embedding_beside_the_layer() {
    let set = &sets::H200;
    let layer = ModelSpec::builder().hidden(7_168).layers(1).intermediate(18_432).weight_dtype(Dtype::Fp8Block);
    let layer = layer.q_heads(128).q_rank(1_536).kv_rank(512).nope_dim(128).rope_dim(64).v_dim(128);
    let layer = layer.vocab(129_280).max_model_len(163_840);
    let head = layer.target_hidden(7_168).aux_states(3).draft_vocab(129_280);
    let [alone, found] = [layer, head].map(|spec| time(&model(&spec.build().unwrap(), set, 8), &[], decode(32, 0)));
    assert_eq!(alone.part(Part::Qkv).0, 0.0);
    assert!(found.part(Part::Qkv).0 > 0.0);
    for part in [Part::DecodeAttention, Part::GateUp, Part::Down, Part::LmHead, Part::AllReduce] {
        assert_eq!(found.part(part), alone.part(part), "{part}");
    }
}

#[test]
fn drafts_take_a_first_run_over_the_step_and_further_runs_over_a_token_of_each_request() {
    let set = &sets::H100;
    let target = model(&models::spec("llama-3.1-8b"), set, TP);
    let (first, further) = (first_run(&head(), set, TP), model(&head(), set, TP));
    let chunks = [Chunk::prompt(300).unwrap()];
    let group = decode(8, 2);
    let both = Drafting::with_mtp(&target, &further, 3).with_first_run(&first);
    let group_of = |tokens| DecodeGroup::from_sum(9, tokens).unwrap();
    let expected = time(&target, &chunks, group).total()
        + time(&first, &chunks, group).total()
        + time(&further, &[], group_of(8_000 + 300 + 9)).total()
        + time(&further, &[], group_of(8_000 + 300 + 18)).total();
    let found = both.total_time(&StepBatch { prefill: &chunks, decode: &[group] });
    assert!((found.0 / expected.0 - 1.0).abs() < 1e-12, "{found:?} {expected:?}");
}

#[test]
fn a_model_that_is_no_head_has_no_first_run() {
    let llama = models::spec("llama-3.1-8b");
    let refused = RooflineModel::try_new_first_run(&llama, &sets::H100, Parallelism::SINGLE, StepOptions::default());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "model: eagle3: expected an EAGLE-3 head, found another model; use try_new"
    );
}

/// A head of latent attention for Kimi-K2.5.
fn latent() -> ModelSpec {
    let head = ModelSpec::builder().hidden(7168).layers(1).intermediate(18_432).vocab(163_840).max_model_len(4096);
    let head = head.q_heads(64).q_rank(1536).kv_rank(512).nope_dim(128).rope_dim(64).v_dim(128);
    head.target_hidden(7168).aux_states(3).draft_vocab(32_000).build().unwrap()
}

#[test]
fn weights_are_those_of_fc_twice_as_wide_projections_ffn_and_lm_head() {
    let [fc, lm_head] = [3 * 4096 * 4096, 32_000 * 4096];
    let attention = 8192 * (32 + 2 * 8) * 128 + 32 * 128 * 4096;
    let (ffn, norms) = (3 * 4096 * 14_336, 4 * 4096);
    assert_eq!(head().weight_params(), fc + attention + ffn + lm_head + norms);

    let [fc, lm_head] = [3 * 7168 * 7168, 32_000 * 7168];
    let compression = 14_336 * (1536 + 512 + 64);
    let heads = 64 * (1536 * (128 + 64) + 512 * (128 + 128) + 128 * 7168);
    let (ffn, norms) = (3 * 7168 * 18_432, 4 * 7168);
    assert_eq!(latent().weight_params(), fc + compression + heads + ffn + lm_head + norms);

    // Wider hidden states than its own: fc has more inputs, and the embedding is not the target's.
    let wider = layer().target_hidden(5120).aux_states(3).draft_vocab(32_000).vocab(128_256).build().unwrap();
    let more = 3 * (5120 - 4096) * 4096 + 128_256 * 4096;
    assert_eq!(wider.weight_params(), head().weight_params() + more);
}

#[test]
fn ranks_divide_a_head_but_for_fc_and_the_compression() {
    let target = models::spec("kimi-k2.5");
    let alone = MemoryPlan::try_new(&target, &gpus::B200, 8, MemoryLimits::default()).unwrap();
    let drafted = alone.with_draft(&latent()).unwrap();
    let whole = 3.0 * 7168.0 * 7168.0 + 14_336.0 * 2112.0;
    let heads = 64.0 * (1536.0 * 192.0 + 512.0 * 256.0 + 128.0 * 7168.0);
    let divided = heads + 3.0 * 7168.0 * 18_432.0 + 32_000.0 * 7168.0;
    let rotary = 4096.0 * 64.0;
    let expected = 2.0 * (whole + divided / 8.0 + rotary);
    assert!((drafted.weight_bytes - alone.weight_bytes - expected).abs() < 1.0);
    // One more layer of latent vectors.
    assert!((drafted.bytes_per_block / alone.bytes_per_block - 62.0 / 61.0).abs() < 1e-12);
}

#[test]
fn heads_of_other_shapes_are_refused() {
    let refused = |builder: ModelSpecBuilder| builder.build().unwrap_err().to_string();
    let head = |target_hidden, aux_states, draft_vocab| {
        layer().vocab(128_256).target_hidden(target_hidden).aux_states(aux_states).draft_vocab(draft_vocab)
    };
    assert_eq!(refused(head(4096, 0, 32_000)), "aux_states: expected a positive number, found 0");
    assert_eq!(refused(head(4096, 3, 128_257)), "draft_vocab: expected at most 128256, found 128257");
    assert_eq!(refused(head(1 << 19, 3, 32_000)), "target_hidden: expected at most 262144, found 524288");
    let layers = "layers: expected a single one of plain or latent attention in an EAGLE-3 head, found ";
    assert!(refused(head(4096, 3, 32_000).layers(2)).starts_with(&format!("{layers}2")));
    for other in
        [head(4096, 3, 32_000).output_gate(true), head(4096, 3, 32_000).index_dim(128).sparse_block(128).top_blocks(16)]
    {
        assert!(refused(other).starts_with(&format!("{layers}1")));
    }
}
