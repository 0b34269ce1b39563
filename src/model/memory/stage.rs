//! Weights and activations of a pipeline stage.

use crate::hardware::Dtype;
use crate::model::{Ffn, LayerGroup, Layers, ModelSpec, Parallelism};

/// A pipeline stage.
pub(super) struct Stage {
    pub(super) layers: Layers,
    /// Index, from 0.
    pub(super) stage: u32,
}

impl Stage {
    /// Returns the only stage of a model.
    pub(super) fn whole(model: &ModelSpec) -> Stage {
        Stage {
            layers: model.layers,
            stage: 0,
        }
    }

    /// Returns the number of vocabulary x hidden matrices of the stage: the embedding in the first one, the lm_head in
    /// the last one, and one for both if they are tied and in the same stage.
    fn vocabularies(&self, model: &ModelSpec, parallelism: Parallelism) -> u32 {
        match (self.stage == 0, self.stage + 1 == parallelism.pp) {
            (true, true) => model.vocabularies(),
            (false, false) => 0,
            _ => 1,
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
/// and the compression of MLA, and embedding and lm_head (16-bit), but not learned positions; all GPUs divide the
/// routed experts. Norms and routers are negligible.
pub(super) fn weight_bytes(model: &ModelSpec, parallelism: Parallelism, stage: &Stage) -> f64 {
    let tp = parallelism.tp;
    let hidden = f64::from(model.hidden);
    let layers = stage.layers.iter().map(|group| {
        let attention = group.attention.rank_params(model.hidden, tp);
        let routed = group.routed_params(model.hidden) as f64 * group.ffn_dtype.weight_bytes();
        let ffn = routed / f64::from(experts_dp(group, parallelism))
            + group.shared_params(model.hidden) as f64 * group.shared_dtype.weight_bytes();
        let layer = attention * group.attention_dtype.weight_bytes() + ffn / f64::from(tp);
        f64::from(group.layers) * layer
    });
    let vocabularies = f64::from(stage.vocabularies(model, parallelism));
    let vocabulary = vocabularies * f64::from(model.vocab) * hidden / f64::from(tp);
    let positions = match stage.stage {
        0 => f64::from(model.positions) * hidden,
        _ => 0.0,
    };
    layers.sum::<f64>() + (vocabulary + positions) * Dtype::Bf16.weight_bytes()
}

/// Returns the number of data-parallel ranks that divide the dense FFN or the routed experts of a layer.
fn experts_dp(group: &LayerGroup, parallelism: Parallelism) -> u32 {
    match group.ffn {
        Ffn::Dense { .. } => 1,
        Ffn::Moe { .. } => parallelism.dp,
    }
}

/// Returns the activation bytes per token of a step at the peak in the FFN of the widest layers, with four times the
/// hidden state, all 16-bit. Experts have the tokens of all data-parallel ranks and an equal share of their width: what
/// comes on top are the hidden states of the other ranks.
pub(super) fn activation_bytes_per_token(model: &ModelSpec, parallelism: Parallelism) -> f64 {
    let groups = model.layers.iter();
    let widest = groups.map(|group| ffn_values_per_token(group) / f64::from(parallelism.tp));
    let hidden_states = 3 + parallelism.dp;
    2.0 * (widest.fold(0.0, f64::max) + f64::from(hidden_states) * f64::from(model.hidden))
}

/// Returns the activations per token of an FFN on all ranks: gate (where there is one), up and what enters the down
/// projection (for MoE: of each expert visited).
fn ffn_values_per_token(group: &LayerGroup) -> f64 {
    let width = match group.ffn {
        Ffn::Dense { intermediate, .. } => f64::from(intermediate),
        Ffn::Moe {
            top_k,
            intermediate,
            shared_intermediate,
            ..
        } => f64::from(top_k) * f64::from(intermediate) + f64::from(shared_intermediate),
    };
    f64::from(group.ffn.up_projections() + 1) * width
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::gpus;
    use crate::model::{MemoryLimits, MemoryPlan, find};

    #[test]
    fn weight_dtype_does_not_change_the_vocabulary() {
        let plan = |model: &ModelSpec| {
            MemoryPlan::try_new(model, &gpus::H100, 4, MemoryLimits::default()).unwrap()
        };
        // A dense model, one with experts, one with a shared one as well.
        for name in [
            "llama-3.1-8b",
            "mixtral-8x7b",
            "meta-llama/Llama-4-Scout-17B-16E-Instruct",
        ] {
            let model = find(name).unwrap().spec;
            let vocabulary = 2.0 * 2.0 * f64::from(model.vocab) * f64::from(model.hidden) / 4.0;
            let of = |dtype| plan(&model.with_weight_dtype(dtype));
            let (bf16, fp8) = (of(Dtype::Bf16), of(Dtype::Fp8));
            let ratio = (fp8.weight_bytes - vocabulary) / (bf16.weight_bytes - vocabulary);
            assert!((ratio - 0.5).abs() < 1e-12, "{name}: {ratio}");
            let freed = (bf16.weight_bytes - fp8.weight_bytes) / bf16.bytes_per_block;
            let more = f64::from(fp8.kv_blocks) - f64::from(bf16.kv_blocks);
            assert!((more - freed).abs() <= 1.0, "{name}: {more} for {freed}");
        }
    }

    #[test]
    fn data_parallel_ranks_divide_the_experts_alone() {
        let model = find("qwen3-30b-a3b").unwrap().spec;
        let plan = |ranks| {
            MemoryPlan::try_new(&model, &gpus::H100, ranks, MemoryLimits::default()).unwrap()
        };
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
