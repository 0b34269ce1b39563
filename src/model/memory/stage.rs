//! Weights and activations of a pipeline stage.

use super::MemoryLimits;
use crate::constants::CUBLAS_BYTES;
use crate::hardware::{Dtype, Gpu};
use crate::model::{Attention, Compressed, Ffn, LayerGroup, Layers, ModelSpec, Parallelism};

/// Bytes of an activation.
const VALUE: f64 = 2.0;

/// A pipeline stage.
pub(super) struct Stage {
    pub(super) layers: Layers,
    /// Index, from 0.
    pub(super) stage: u32,
}

impl Stage {
    /// Returns the only stage of a model.
    pub(super) fn whole(model: &ModelSpec) -> Stage {
        Stage { layers: model.layers, stage: 0 }
    }

    /// Returns the number of rows of the stage's embedding and lm_head: the embedding in the first one, the lm_head in
    /// the last one, and one for both if they are tied and in the same stage.
    fn vocabulary_rows(&self, model: &ModelSpec, parallelism: Parallelism) -> u64 {
        match (self.stage == 0, self.stage + 1 == parallelism.pp) {
            (true, true) => model.vocabulary_rows(),
            (false, false) => 0,
            _ => model.vocab.into(),
        }
    }
}

impl ModelSpec {
    /// Returns the bytes of all weights in their formats, as one GPU would hold them; norms and routers are
    /// negligible.
    pub fn weight_bytes(&self) -> f64 {
        weight_bytes(self, Parallelism::SINGLE, &Stage::whole(self))
    }
}

/// Returns the bytes of the weights of one GPU of a stage. The GPUs of a rank divide linear layers, except for replicated KV heads
/// and the compression of MLA, and embedding and lm_head (16-bit), but not learned positions and the `fc` of an EAGLE-3 head; all GPUs divide the
/// routed experts. Norms and routers are negligible.
pub(super) fn weight_bytes(model: &ModelSpec, parallelism: Parallelism, stage: &Stage) -> f64 {
    let tp = parallelism.tp;
    let hidden = f64::from(model.hidden);
    let layers = stage.layers.iter().map(|group| {
        let attention = group.attention.rank_params([model.attention_input(), model.hidden], tp);
        let routed = group.routed_params(model.hidden) as f64 * group.ffn_dtype.weight_bytes();
        let ffn = routed / f64::from(experts_dp(group, parallelism))
            + group.shared_params(model.hidden) as f64 * group.shared_dtype.weight_bytes();
        let layer = attention * group.attention_dtype.weight_bytes() + ffn / f64::from(tp);
        f64::from(group.layers) * layer
    });
    let vocabulary = stage.vocabulary_rows(model, parallelism) as f64 * hidden / f64::from(tp);
    let positions = match stage.stage {
        0 => f64::from(model.positions) * hidden,
        _ => 0.0,
    };
    layers.sum::<f64>() + (vocabulary + positions + model.fc_params() as f64) * Dtype::Bf16.weight_bytes()
}

/// Returns the number of data-parallel ranks that divide the dense FFN or the routed experts of a layer.
fn experts_dp(group: &LayerGroup, parallelism: Parallelism) -> u32 {
    match group.ffn {
        Ffn::Dense { .. } => 1,
        Ffn::Moe { .. } => parallelism.dp,
    }
}

/// Returns the bytes that each GPU of a stage holds whole, beside its weights: routers and the rotary table (16-bit), what
/// compressors and the weights of an indexer's heads take in 16 bits beyond the format of the layer, and the weights of
/// hyper-connections (32-bit).
pub(super) fn replicated_bytes(model: &ModelSpec, stage: &Stage) -> f64 {
    let hidden = f64::from(model.hidden);
    let routers = stage.layers.iter().map(|group| match group.ffn {
        Ffn::Dense { .. } => 0.0,
        Ffn::Moe { experts, .. } => f64::from(group.layers) * f64::from(experts) * hidden,
    });
    let rotary = stage.layers.iter().map(|group| match group.attention {
        _ if model.positions > 0 => 0,
        Attention::Gqa(heads) => heads.head_dim,
        Attention::Msa(heads) => heads.head_dim,
        Attention::Mla(latent) => latent.rope_dim,
        Attention::DeltaNet(_) => 0,
        // One table for compressed keys, one for the others.
        Attention::Compressed(_) => 2 * Compressed::ROPE_DIM,
    });
    let table = f64::from(model.max_model_len) * f64::from(rotary.max().unwrap_or(0));
    let widened = stage.layers.iter().map(|group| match group.attention {
        Attention::Compressed(compressed) => {
            let [_, wide] = compressed.shape(model.hidden, group.attention_dtype, 1).weights();
            f64::from(group.layers) * wide * (Dtype::Bf16.weight_bytes() - group.attention_dtype.weight_bytes())
        }
        _ => 0.0,
    });
    let streams = f64::from(model.streams);
    let mixing = 2.0 * f64::from(stage.layers.total()) * streams * (streams + 2.0) * streams * hidden * 4.0;
    (routers.sum::<f64>() + table) * Dtype::Bf16.weight_bytes() + widened.sum::<f64>() + mixing
}

/// Returns the peak of the activations of vLLM's profile run (`profile_run` in `vllm/v1/worker/gpu_model_runner.py`) on
/// a GPU of a stage: that of the layers with all tokens of the budget, or in the last stage that of the sampler with the
/// logits of all requests, after which the hidden states, those of the sampled tokens and their copy are still held.
pub(super) fn activation_bytes(
    model: &ModelSpec,
    gpu: &Gpu,
    parallelism: Parallelism,
    limits: &MemoryLimits,
    stage: &Stage,
) -> f64 {
    let (hidden, vocab) = (f64::from(model.hidden), f64::from(model.vocab));
    let tokens = f64::from(limits.max_num_batched_tokens);
    let widest = |values: fn(&LayerGroup, &ModelSpec, Parallelism) -> f64| {
        let groups = model.layers.iter();
        let all = groups.map(|group| values(group, model, parallelism));
        tokens * all.fold(0.0, f64::max)
    };
    // Experts have the tokens of all data-parallel ranks and an equal share of their width: what comes on top are the
    // hidden states of the other ranks.
    let streams = 2 * model.streams.saturating_sub(1);
    let layers = widest(ffn_values) + tokens * f64::from(3 + parallelism.dp + streams) * hidden;
    let requests = limits.max_num_seqs.min(limits.max_num_batched_tokens);
    let rows = f64::from(requests.min(gpu.sms));
    let requests = f64::from(requests);
    let engine = &limits.engine;
    let logits = vocab * (requests * engine.logit_memory + rows * engine.logit_buffer);
    let kept = engine.kept_expert_workspace * widest(expert_values);
    let sampler = logits + VALUE * (kept + (tokens + 2.0 * requests) * hidden);
    let peak = if stage.stage + 1 == parallelism.pp { sampler.max(VALUE * layers) } else { VALUE * layers };
    // Between stages: hidden state and residual, or all streams.
    let received = if parallelism.pp > 1 { f64::from(model.streams.max(2)) } else { 0.0 };
    CUBLAS_BYTES + peak + VALUE * received * tokens * hidden
}

/// Returns the activations per token of an FFN on one rank: gate (where there is one), up and what enters the down
/// projection, for experts their workspace.
fn ffn_values(group: &LayerGroup, model: &ModelSpec, parallelism: Parallelism) -> f64 {
    let matrices = f64::from(group.ffn.up_projections() + 1);
    let dense = |width: u32| matrices * f64::from(width) / f64::from(parallelism.tp);
    match group.ffn {
        Ffn::Dense { intermediate, .. } => dense(intermediate),
        Ffn::Moe { shared_intermediate, .. } => expert_values(group, model, parallelism) + dense(shared_intermediate),
    }
}

/// Returns the workspace of experts per token on one rank, 0 for a dense FFN: for each expert visited the outputs of
/// gate and up, in which those of the down projection follow, and what enters the latter (`TritonExperts` in
/// `vllm/model_executor/layers/fused_moe/fused_moe.py`).
fn expert_values(group: &LayerGroup, model: &ModelSpec, parallelism: Parallelism) -> f64 {
    let Ffn::Moe { top_k, intermediate, .. } = group.ffn else {
        return 0.0;
    };
    let hidden = f64::from(model.hidden);
    let width = f64::from(intermediate) / f64::from(parallelism.tp);
    let gate_up = f64::from(group.ffn.up_projections()) * width;
    f64::from(top_k) * (width.max(hidden) + gate_up.max(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::gpus;
    use crate::model::{MemoryLimits, MemoryPlan, find};

    #[test]
    fn weight_dtype_does_not_change_the_vocabulary() {
        let plan = |model: &ModelSpec| MemoryPlan::try_new(model, &gpus::H100, 4, MemoryLimits::default()).unwrap();
        // A dense model, one with experts, one with a shared one as well.
        for name in ["llama-3.1-8b", "mixtral-8x7b", "meta-llama/Llama-4-Scout-17B-16E-Instruct"] {
            let model = find(name).unwrap().spec;
            let vocabulary = 2.0 * 2.0 * f64::from(model.vocab) * f64::from(model.hidden) / 4.0;
            let of = |dtype| plan(&model.with_weight_dtype(dtype));
            let (bf16, fp8) = (of(Dtype::Bf16), of(Dtype::Fp8));
            let kept = vocabulary + replicated_bytes(&model, &Stage::whole(&model));
            let ratio = (fp8.weight_bytes - kept) / (bf16.weight_bytes - kept);
            assert!((ratio - 0.5).abs() < 1e-12, "{name}: {ratio}");
            let freed = (bf16.weight_bytes - fp8.weight_bytes) / bf16.bytes_per_block;
            let more = f64::from(fp8.kv_blocks) - f64::from(bf16.kv_blocks);
            assert!((more - freed).abs() <= 1.0, "{name}: {more} for {freed}");
        }
    }

    #[test]
    fn data_parallel_ranks_divide_the_experts_alone() {
        let model = find("qwen3-30b-a3b").unwrap().spec;
        // One request: the peak is that of the layers.
        let limits = MemoryLimits::default().with_max_num_seqs(1);
        let plan = |ranks| MemoryPlan::try_new(&model, &gpus::H100, ranks, limits).unwrap();
        let single = Parallelism::SINGLE;
        let [one, four] = [plan(single), plan(single.with_dp(4))];
        let experts = 48.0 * 128.0 * 3.0 * 2048.0 * 768.0 * 2.0;
        let saved = one.weight_bytes - four.weight_bytes;
        assert!((saved / (0.75 * experts) - 1.0).abs() < 1e-12, "{saved}");
        assert!((one.bytes_per_block - four.bytes_per_block).abs() < 1e-9);
        assert!(four.activation_bytes > one.activation_bytes);
        let sliced = plan(Parallelism::tensor(2).with_dp(2));
        let halved = plan(Parallelism::tensor(2));
        let saved = halved.weight_bytes - sliced.weight_bytes;
        assert!((saved / (0.25 * experts) - 1.0).abs() < 1e-12, "{saved}");
    }
}
