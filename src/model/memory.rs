//! GPU memory available for the KV cache.

use super::{
    Attention, Ffn, KvGroups, LayerGroup, Layers, MemoryError, ModelSpec, Parallelism, SpecError,
};
use crate::constants::{COMMUNICATION_BYTES, CONTEXT_BYTES, DRIVER_BYTES};
use crate::hardware::{Dtype, Gpu};

/// Limits that determine the memory left for the KV cache.
///
/// ```
/// use rooflut::model::MemoryLimits;
/// let limits = MemoryLimits::default().with_max_num_batched_tokens(8_192);
/// assert_eq!(limits.block_size, 16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct MemoryLimits {
    /// Share of the GPU's memory that the engine may use, above 0, at most 1 (vLLM's default: 0.9).
    pub gpu_memory_utilization: f64,
    /// Maximum number of tokens in a step, which determines the size of the activations.
    pub max_num_batched_tokens: u32,
    /// Tokens in a KV block.
    pub block_size: u32,
    /// Format of the KV entries.
    pub kv_dtype: Dtype,
}

impl MemoryLimits {
    crate::setters! {
        /// Sets the share of the GPU's memory that the engine may use.
        with_gpu_memory_utilization(gpu_memory_utilization: f64);
        /// Sets the maximum number of tokens in a step.
        with_max_num_batched_tokens(max_num_batched_tokens: u32);
        /// Sets the number of tokens in a KV block.
        with_block_size(block_size: u32);
        /// Sets the format of the KV entries.
        with_kv_dtype(kv_dtype: Dtype);
    }
}

impl Default for MemoryLimits {
    /// Returns vLLM's defaults: 0.9 of the memory, 2,048 tokens in a step, 16-bit KV blocks of 16 tokens.
    fn default() -> MemoryLimits {
        MemoryLimits {
            gpu_memory_utilization: 0.9,
            max_num_batched_tokens: 2048,
            block_size: 16,
            kv_dtype: Dtype::Bf16,
        }
    }
}

impl MemoryLimits {
    /// Checks each limit.
    ///
    /// # Errors
    /// [`MemoryError::Utilization`] and [`MemoryError::ZeroLimit`].
    pub fn check(&self) -> Result<(), MemoryError> {
        let found = self.gpu_memory_utilization;
        if !(found > 0.0 && found <= 1.0) {
            return Err(MemoryError::Utilization { found });
        }
        let limits = [
            ("max_num_batched_tokens", self.max_num_batched_tokens),
            ("block_size", self.block_size),
        ];
        match limits.into_iter().find(|(_, tokens)| *tokens == 0) {
            Some((limit, _)) => Err(MemoryError::ZeroLimit { limit }),
            None => Ok(()),
        }
    }
}

/// Memory use of one rank, in bytes; with several pipeline stages that of the stage with room for the fewest KV blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemoryPlan {
    /// Memory that the engine may use.
    pub usable_bytes: f64,
    /// Weights on this rank.
    pub weight_bytes: f64,
    /// Peak of the activations.
    pub activation_bytes: f64,
    /// Context, graphs, communication buffers.
    pub overhead_bytes: f64,
    /// One KV block on this rank: those of the layers of a group.
    pub bytes_per_block: f64,
    /// KV blocks that fit into the rest.
    pub kv_blocks: u32,
    /// The groups of layers that share the blocks.
    pub groups: KvGroups,
    /// Number of ranks that share the model, or a pipeline stage of it.
    pub tp: u32,
    /// Index of the pipeline stage, from 0.
    #[cfg_attr(feature = "serde", serde(default))]
    pub stage: u32,
    /// The limits that the plan is based on. Blocks have more tokens than given where a state needs the space.
    pub limits: MemoryLimits,
}

/// A pipeline stage.
struct Stage {
    layers: Layers,
    /// Index, from 0.
    stage: u32,
}

impl Stage {
    /// Returns the only stage of a model.
    fn whole(model: &ModelSpec) -> Stage {
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

/// Tokens of the blocks that attention kernels read.
const KERNEL_BLOCK: u32 = 16;

impl MemoryPlan {
    /// Divides the memory of one of the ranks as vLLM does at startup: (memory x utilization - weights - activation
    /// peak - overheads) / bytes per block.
    ///
    /// Source of the overheads: `bench_data/constants.toml`, fitted to nine block counts that vLLM 0.11 and 0.15
    /// reported on H100 (tp 1 to 4, models of 7 to 70 billion weights). The plan reproduces these counts within 0.5
    /// %.
    ///
    /// ```
    /// use rooflut::hardware::gpus;
    /// use rooflut::model::{self, MemoryLimits, MemoryPlan};
    /// let llama_2_7b = model::find("llama-2-7b").unwrap().spec;
    /// let plan = MemoryPlan::try_new(&llama_2_7b, &gpus::H100, 1, MemoryLimits::default())?;
    /// // vLLM 0.15.1 reported 7,463.
    /// assert!(plan.kv_blocks.abs_diff(7463) < 40);
    /// # Ok::<(), rooflut::model::MemoryError>(())
    /// ```
    ///
    /// # Errors
    /// No block fits into memory, the dimensions of the model are invalid or not divisible by the ranks, or a limit
    /// is out of range.
    pub fn try_new(
        model: &ModelSpec,
        gpu: &Gpu,
        parallelism: impl Into<Parallelism>,
        limits: MemoryLimits,
    ) -> Result<MemoryPlan, MemoryError> {
        MemoryPlan::of(model, gpu, parallelism.into(), limits, 0.0)
    }

    /// Divides the memory as [`try_new`](Self::try_new), with the MTP layers of the model, which draft tokens: their
    /// weights, and keys and values as those of the last layers. Embedding and lm_head are those of the model. Each GPU
    /// has the whole projection from hidden state and embedding (`eh_proj` in
    /// `vllm/model_executor/models/deepseek_mtp.py`), which is 16-bit.
    ///
    /// Assumes: the MTP layers of Qwen3-Next and Qwen3.5 have such a projection on each GPU, too, where vLLM divides it.
    ///
    /// ```
    /// use rooflut::hardware::gpus;
    /// use rooflut::model::{self, MemoryLimits, MemoryPlan};
    /// let v3 = model::find("deepseek-v3").unwrap().spec;
    /// let alone = MemoryPlan::try_new(&v3, &gpus::H200, 8, MemoryLimits::default())?;
    /// let drafts = MemoryPlan::try_new_with_mtp(&v3, &gpus::H200, 8, MemoryLimits::default())?;
    /// // A layer of 11.5 billion weights, a byte each, on eight GPUs.
    /// let more = drafts.weight_bytes - alone.weight_bytes;
    /// assert!(more > 1.4e9 && more < 1.8e9, "{more}");
    /// assert!(drafts.kv_blocks < alone.kv_blocks);
    /// # Ok::<(), rooflut::model::MemoryError>(())
    /// ```
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new); a model without MTP layers; several pipeline stages.
    pub fn try_new_with_mtp(
        model: &ModelSpec,
        gpu: &Gpu,
        parallelism: impl Into<Parallelism>,
        limits: MemoryLimits,
    ) -> Result<MemoryPlan, MemoryError> {
        let parallelism = parallelism.into();
        let layer = model.mtp_layer().map_err(MemoryError::Spec)?;
        let checked = layer.check_parallelism(parallelism);
        checked.map_err(MemoryError::Spec)?;
        let hidden = f64::from(model.hidden);
        let projections = f64::from(model.mtp_layers) * 2.0 * hidden * hidden;
        let bytes = projections * Dtype::Bf16.weight_bytes();
        let counted = model.with_mtp_counted();
        MemoryPlan::of(&counted, gpu, parallelism, limits, bytes)
    }

    /// Divides the memory, of which other weights take `other_bytes`.
    fn of(
        model: &ModelSpec,
        gpu: &Gpu,
        parallelism: Parallelism,
        limits: MemoryLimits,
        other_bytes: f64,
    ) -> Result<MemoryPlan, MemoryError> {
        limits.check()?;
        model.check().map_err(MemoryError::Spec)?;
        let checked = model.check_parallelism(parallelism);
        checked.map_err(MemoryError::Spec)?;
        let plan = |(stage, layers)| {
            let stage = Stage { layers, stage };
            MemoryPlan::of_stage(model, gpu, parallelism, limits, stage, other_bytes)
        };
        // Workers agree on the fewest blocks that one of them has room for.
        let mut stages = (0..).zip(model.stages(parallelism.pp)).map(plan);
        let no_stage = Err(MemoryError::Spec(SpecError::Zero { field: "pp" }));
        let first = stages.next().unwrap_or(no_stage)?;
        stages.try_fold(first, |fewest, plan| {
            let plan = plan?;
            let has_fewer = plan.kv_blocks < fewest.kv_blocks;
            Ok(if has_fewer { plan } else { fewest })
        })
    }

    /// Divides the memory of a rank of a pipeline stage.
    fn of_stage(
        model: &ModelSpec,
        gpu: &Gpu,
        parallelism: Parallelism,
        limits: MemoryLimits,
        stage: Stage,
        other_bytes: f64,
    ) -> Result<MemoryPlan, MemoryError> {
        let tp = parallelism.tp;
        let usable_bytes = (gpu.mem_bytes as f64 - DRIVER_BYTES) * limits.gpu_memory_utilization;
        let tokens = f64::from(limits.max_num_batched_tokens);
        let activation_bytes = tokens * activation_bytes_per_token(model, parallelism);
        let communication = parallelism.gpus() > 1;
        let overhead_bytes = CONTEXT_BYTES
            + if communication {
                COMMUNICATION_BYTES
            } else {
                0.0
            };
        let empty = MemoryPlan {
            usable_bytes,
            weight_bytes: weight_bytes(model, parallelism, &stage) + other_bytes,
            activation_bytes,
            overhead_bytes,
            bytes_per_block: 0.0,
            kv_blocks: 0,
            groups: KvGroups::of(model, tp),
            tp,
            stage: stage.stage,
            limits: MemoryLimits {
                block_size: grown_block_size(model, tp, &limits),
                ..limits
            },
        };
        let token_bytes = token_bytes_of_group(model, tp, limits.kv_dtype, &stage);
        empty.with_blocks(token_bytes)
    }

    /// Returns the plan with the weights and the KV entries of `draft`, the draft model of speculative decoding,
    /// added to those of the target. A KV block holds the entries of both. The activations of the two models are not
    /// live at the same time, and the target's are assumed to be larger.
    ///
    /// Assumes: the draft's layers join each group of the target's, and windows of the draft free no blocks.
    ///
    /// # Errors
    /// No block fits into memory, or the dimensions of `draft` are invalid or not divisible by the ranks.
    pub fn with_draft(mut self, draft: &ModelSpec) -> Result<MemoryPlan, MemoryError> {
        draft.check().map_err(MemoryError::Spec)?;
        let checked = draft.check_parallelism(self.tp);
        checked.map_err(MemoryError::Spec)?;
        let token_bytes = kv_bytes_per_token(draft, self.tp, self.limits.kv_dtype);
        let sliced = Parallelism::tensor(self.tp);
        self.weight_bytes += weight_bytes(draft, sliced, &Stage::whole(draft));
        self.with_blocks(token_bytes)
    }

    /// Returns the plan with KV blocks of these bytes per token more.
    fn with_blocks(mut self, token_bytes: f64) -> Result<MemoryPlan, MemoryError> {
        self.bytes_per_block += f64::from(self.limits.block_size) * token_bytes;
        let fixed = self.weight_bytes + self.activation_bytes + self.overhead_bytes;
        self.kv_blocks = ((self.usable_bytes - fixed) / self.bytes_per_block) as u32;
        let needed = self.groups.states.saturating_add(self.groups.full);
        if self.groups.states > 0 && self.kv_blocks > 0 && self.kv_blocks < needed {
            return Err(MemoryError::StatesDoNotFit {
                needed_bytes: f64::from(needed) * self.bytes_per_block,
                left_bytes: self.usable_bytes - fixed,
            });
        }
        if self.kv_blocks == 0 {
            return Err(MemoryError::DoesNotFit {
                needed_bytes: fixed + self.bytes_per_block,
                usable_bytes: self.usable_bytes,
            });
        }
        Ok(self)
    }
}

/// Returns the bytes of K and V of one token over all layers, on one rank.
pub(crate) fn kv_bytes_per_token(model: &ModelSpec, tp: u32, kv_dtype: Dtype) -> f64 {
    bytes_per_token(&model.layers, tp, kv_dtype)
}

fn bytes_per_token(layers: &Layers, tp: u32, kv_dtype: Dtype) -> f64 {
    let groups = layers
        .iter()
        .map(|group| f64::from(group.layers) * layer_bytes(group, tp, kv_dtype));
    groups.sum()
}

/// Returns the bytes of K and V of one token over the layers of a KV cache group, on one rank of a stage. Layers with
/// fewer bytes than others are padded if there are several groups, of which each stage has its share of layers.
fn token_bytes_of_group(model: &ModelSpec, tp: u32, kv_dtype: Dtype, stage: &Stage) -> f64 {
    let groups = KvGroups::of(model, tp);
    if groups.count() == 1 && groups.states == 0 {
        return bytes_per_token(&stage.layers, tp, kv_dtype);
    }
    let total = model.layers.total().max(1);
    let of_stage = groups.layers.saturating_mul(stage.layers.total());
    let layers = model.layers.iter();
    let widest = layers.map(|group| layer_bytes(group, tp, kv_dtype));
    f64::from(of_stage.div_ceil(total)) * widest.fold(0.0, f64::max)
}

/// Returns the tokens of a block: those given, or as many times more as one needs to hold the state of a request in a
/// layer, if there are such layers. `_align_hybrid_block_size` in `vllm/platforms/interface.py`, with attention kernels
/// for blocks of 16 tokens.
///
/// ```text
/// Qwen3.5-397B, tp 8: 8 heads x 128 x 128 x 4 B + 12 heads x 128 x 3 x 2 B = 533,504 B of state; at 1,024 B a token
/// and layer that is 521 tokens, so that blocks have 528.
/// ```
pub(crate) fn grown_block_size(model: &ModelSpec, tp: u32, limits: &MemoryLimits) -> u32 {
    let states = model.layers.iter().map(|group| match group.attention {
        Attention::DeltaNet(net) => net.state_bytes(tp),
        _ => 0,
    });
    let page = states.max().unwrap_or(0);
    let tokens = model
        .layers
        .iter()
        .map(|group| layer_bytes(group, tp, limits.kv_dtype));
    let token_bytes = tokens.fold(0.0, f64::max);
    if page == 0 || token_bytes <= 0.0 {
        return limits.block_size;
    }
    let aligned = limits.block_size.max(KERNEL_BLOCK);
    let times = (page as f64 / (f64::from(aligned) * token_bytes)) as u32;
    let fits = f64::from(times) * f64::from(aligned) * token_bytes >= page as f64;
    let times = if fits { times } else { times.saturating_add(1) };
    aligned.saturating_mul(times.max(1))
}

/// Returns the bytes of K and V of one token in one layer, on one rank.
fn layer_bytes(group: &LayerGroup, tp: u32, kv_dtype: Dtype) -> f64 {
    group.attention.kv_bytes(tp, kv_dtype)
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
fn weight_bytes(model: &ModelSpec, parallelism: Parallelism, stage: &Stage) -> f64 {
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
fn activation_bytes_per_token(model: &ModelSpec, parallelism: Parallelism) -> f64 {
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
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;
    use crate::hardware::gpus;
    use crate::model::{Attention, SpecError, find};

    #[test]
    fn block_counts_match_reported_ones() {
        // Model, tp, max_num_batched_tokens, blocks that vLLM reported on H100.
        let reported = [
            ("llama-2-7b", 1, 2048, 7463),
            ("llama-2-70b", 4, 2048, 31_357),
            ("mixtral-8x7b", 2, 2048, 27_511),
            ("codellama-34b", 2, 2048, 26_603),
            ("codellama-34b", 1, 64, 2790),
            ("codellama-34b", 1, 4096, 2537),
            ("llama-2-7b", 1, 4096, 7438),
            ("qwen2.5-7b", 1, 4096, 65_833),
        ];
        for (name, tp, max_num_batched_tokens, blocks) in reported {
            let limits = MemoryLimits {
                max_num_batched_tokens,
                ..MemoryLimits::default()
            };
            let model = find(name).unwrap().spec;
            let plan = MemoryPlan::try_new(&model, &gpus::H100, tp, limits).unwrap();
            let error = f64::from(plan.kv_blocks) / f64::from(blocks) - 1.0;
            assert!(
                error.abs() < 0.005,
                "{name} tp {tp}: {} for {blocks}",
                plan.kv_blocks
            );
        }
    }

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
    fn each_rank_holds_the_latent_vectors_of_all_tokens() {
        let model = find("deepseek-v3").unwrap().spec;
        for (kv_dtype, token_bytes) in [(Dtype::Bf16, 70_272.0), (Dtype::Fp8, 35_136.0)] {
            let limits = MemoryLimits::default().with_kv_dtype(kv_dtype);
            let plan = |tp| MemoryPlan::try_new(&model, &gpus::B200, tp, limits).unwrap();
            let (eight, sixteen) = (plan(8), plan(16));
            for plan in [eight, sixteen] {
                assert!((plan.bytes_per_block - 16.0 * token_bytes).abs() < 1e-6);
            }
            assert_eq!((eight.groups.layers, eight.groups.count()), (61, 1));
            // The compression to 2,112 values is on each rank.
            let compression = 61.0 * 7168.0 * 2112.0 * Dtype::Fp8Block.weight_bytes();
            let divided = |plan: MemoryPlan| plan.weight_bytes - compression;
            assert!((divided(eight) / divided(sixteen) - 2.0).abs() < 1e-9);
        }
        let uneven = SpecError::NotDivisible {
            field: "q_heads",
            found: 128,
            by: "tp",
            divisor: 3,
        };
        assert_eq!(model.check_parallelism(3), Err(uneven));
    }

    #[test]
    fn a_draft_model_takes_weights_and_a_share_of_each_block() {
        let (target, draft) = (find("llama-3.1-8b").unwrap(), find("llama-3.2-1b").unwrap());
        let limits = MemoryLimits::default();
        let alone = |spec| MemoryPlan::try_new(spec, &gpus::H100, 1, limits).unwrap();
        let plan = alone(&target.spec);
        let both = plan.with_draft(&draft.spec).unwrap();
        let small = alone(&draft.spec);
        // The draft's embedding doubles as its lm_head: 1.24 billion weights.
        assert!((small.weight_bytes / 2.47e9 - 1.0).abs() < 0.01);
        let weights = plan.weight_bytes + small.weight_bytes;
        assert!((both.weight_bytes - weights).abs() < 1.0);
        // 32 layers of 8 heads of 128 dimensions, and 16 of 8 of 64: a quarter more.
        assert!((both.bytes_per_block / plan.bytes_per_block - 1.25).abs() < 1e-12);
        let left = f64::from(plan.kv_blocks) * plan.bytes_per_block - small.weight_bytes;
        let blocks = left / both.bytes_per_block;
        assert!((f64::from(both.kv_blocks) - blocks).abs() < 2.0);
        let mut three_heads = draft.spec;
        let Attention::Gqa(heads) = &mut three_heads.layers[0].attention else {
            panic!("found latent attention")
        };
        heads.kv_heads = 3;
        let refused = plan.with_draft(&three_heads);
        assert!(matches!(refused, Err(MemoryError::Spec(_))), "{refused:?}");
    }

    /// Source: pages of `unify_kv_cache_spec_page_size` in vLLM 0.33.
    #[test]
    fn blocks_of_layers_with_fewer_bytes_hold_more_tokens() {
        let model = find("gemma-4-26b-a4b").unwrap().spec;
        let plan = MemoryPlan::try_new(&model, &gpus::H200, 1, MemoryLimits::default()).unwrap();
        let block = plan.bytes_per_block;
        assert!((block - 16.0 * 5.0 * 2.0 * 8.0 * 256.0 * 2.0).abs() < 1e-6);
        // The 32 tokens of a unit: as many bytes as they have in all layers.
        let blocks = plan.groups.blocks(32, 32, 2_048);
        let bytes = 32.0 * kv_bytes_per_token(&model, 1, Dtype::Bf16);
        assert!((f64::from(blocks) * block - bytes).abs() < 1e-6, "{blocks}");
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

    #[test]
    fn blocks_grow_until_one_holds_the_state_of_a_layer() {
        let spec = |name| find(name).unwrap().spec;
        // Source: vLLM's log for Qwen3.5-397B at tp 8, 528 tokens; the others follow from the same formula.
        for (name, tp, block_size, tokens) in [
            ("qwen3.5-397b-a17b", 8, 16, 528),
            ("qwen3.5-35b-a3b", 1, 16, 1056),
            ("qwen3.5-35b-a3b", 2, 16, 1056),
            ("qwen3.5-35b-a3b", 1, 128, 1152),
            ("qwen3.5-27b", 4, 16, 784),
            ("llama-3.1-8b", 1, 16, 16),
        ] {
            let limits = MemoryLimits::default().with_block_size(block_size);
            let found = grown_block_size(&spec(name), tp, &limits);
            assert_eq!(found, tokens, "{name} {tp} {block_size}");
        }
        let limits = MemoryLimits::default();
        let plan = MemoryPlan::try_new(&spec("qwen3.5-397b-a17b"), &gpus::B200, 8, limits).unwrap();
        assert_eq!(plan.limits.block_size, 528);
        let KvGroups {
            layers,
            full,
            states,
            ..
        } = plan.groups;
        assert_eq!((layers, full, states), (15, 1, 3));
        // 15 layers of a group: K and V of 528 tokens each, or a state.
        assert_eq!(plan.bytes_per_block as u64, 15 * 528 * 1024);
        assert_eq!(plan.groups.blocks(5280, 528, 2048), 10 + 3);
        assert_eq!(plan.groups.longest(13, 528, 2048), 5280);
    }

    #[test]
    fn sparse_latent_attention_caches_the_keys_of_its_indexer() {
        // vLLM gives both caches of a layer as many blocks: 656 (fp8) or 1,152 bytes a token, and 132.
        for (name, layers) in [("deepseek-v3.2", 61.0), ("glm-5", 78.0)] {
            let model = find(name).unwrap().spec;
            for (kv_dtype, bytes) in [(Dtype::Fp8, 788.0), (Dtype::Bf16, 1284.0)] {
                for tp in [1, 8] {
                    let found = kv_bytes_per_token(&model, tp, kv_dtype);
                    assert!(
                        (found / (layers * bytes) - 1.0).abs() < 1e-12,
                        "{name} {kv_dtype}"
                    );
                }
            }
            assert_eq!(KvGroups::of(&model, 8).count(), 1);
        }
    }

    #[test]
    fn a_state_that_does_not_fit_is_an_error() {
        let model = find("qwen3.5-27b").unwrap().spec;
        let plan = |utilization| {
            let limits = MemoryLimits::default().with_gpu_memory_utilization(utilization);
            MemoryPlan::try_new(&model, &gpus::H100, 1, limits)
        };
        let lowest = (6000..8000).map(|share| f64::from(share) / 10_000.0);
        let refused: Vec<MemoryError> = lowest.filter_map(|share| plan(share).err()).collect();
        let of_states = |error: &MemoryError| matches!(error, MemoryError::StatesDoNotFit { .. });
        let Some(error) = refused.iter().find(|error| of_states(error)) else {
            panic!("{refused:?}")
        };
        assert!(error.to_string().contains("gated delta nets"), "{error}");
    }

    #[test]
    fn groups_share_the_memory_of_all_layers_and_padding() {
        let plan = |name: &str| {
            let model = find(name).unwrap().spec;
            MemoryPlan::try_new(&model, &gpus::H200, 1, MemoryLimits::default()).unwrap()
        };
        let gemma = plan("gemma-3-27b");
        // A block has 16 tokens of 10 layers with 16 heads of 128 dimensions, K and V, 16 bits each.
        assert!((gemma.bytes_per_block - 16.0 * 10.0 * 2.0 * 16.0 * 128.0 * 2.0).abs() < 1e-6);
        let left =
            gemma.usable_bytes - gemma.weight_bytes - gemma.activation_bytes - gemma.overhead_bytes;
        assert_eq!(gemma.kv_blocks, (left / gemma.bytes_per_block) as u32);
    }
}
