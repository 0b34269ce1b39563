//! GPU memory available for the KV cache.

mod constants;
mod kv_bytes;
mod limits;
mod stage;

pub use constants::MemoryConstants;
use kv_bytes::token_bytes_of_group;
pub(crate) use kv_bytes::{grown_block_size, kv_bytes_per_token};
pub use limits::MemoryLimits;
use stage::{Stage, activation_bytes, replicated_bytes, weight_bytes};

use crate::constants::DRIVER_BYTES;
use crate::error::{Error, ErrorKind, Invalid};
use crate::hardware::{Dtype, Gpu};
use crate::model::{KvGroups, ModelSpec, Parallelism};

/// Memory use of one rank, in bytes. With several pipeline stages, the rank belongs to the stage with room for the
/// fewest KV blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemoryPlan {
    /// Memory that the engine may use.
    pub usable_bytes: f64,
    /// Weights on this rank.
    pub weight_bytes: f64,
    /// Peak of the activations in the engine's profile run.
    pub activation_bytes: f64,
    /// Code of kernels, communication buffers, and what the engine sets aside for CUDA graphs.
    pub overhead_bytes: f64,
    /// One KV block on this rank, with all layers of a group.
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
    /// The limits that the plan is based on. Blocks have more tokens than given if a state needs the space.
    pub limits: MemoryLimits,
}

impl MemoryPlan {
    /// Divides the memory of one of the ranks as vLLM does at startup: (memory x utilization - weights - activation
    /// peak - overheads) / bytes per block. The version of the engine is in the limits
    /// ([`EngineStack::memory_limits`](crate::engine::EngineStack::memory_limits)).
    ///
    /// Weights are the layers and the vocabulary, divided by the ranks as vLLM does, plus routers and rotary tables on
    /// each rank. The activation peak is the peak of vLLM's profile run: of the layers with a full token budget, or of
    /// the sampler with the logits of `max_num_seqs` requests, whichever is larger. Source of the overheads:
    /// `bench_data/engines/`, from 9 servers of vLLM 0.11 and 0.15 and 27 of 0.19 on H100 (tp 1 to 4, models of 2 to 73
    /// billion weights). The plan reproduces the block counts of vLLM 0.11 and 0.15 within 0.5 %, and the KV memory of
    /// 0.19 within 0.02 GiB in the median.
    ///
    /// Does not model: encoders of images, float32 weights, and experts whose kernels need other workspaces than
    /// Triton's.
    ///
    /// ```
    /// use rooflut::engine::stacks;
    /// use rooflut::hardware::gpus;
    /// use rooflut::model::{self, MemoryLimits, MemoryPlan};
    /// let llama_2_7b = model::find("llama-2-7b").unwrap().spec;
    /// let limits = stacks::VLLM_0_15_1.memory_limits(MemoryLimits::default());
    /// let plan = MemoryPlan::try_new(&llama_2_7b, &gpus::H100, 1, limits)?;
    /// // vLLM 0.15.1 reported 7,463.
    /// assert!(plan.kv_blocks.abs_diff(7463) < 40);
    /// # Ok::<(), rooflut::Error>(())
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
    ) -> Result<MemoryPlan, Error> {
        MemoryPlan::of(model, gpu, parallelism.into(), limits, 0.0)
    }

    /// Divides the memory as [`try_new`](Self::try_new), with the MTP layers of the model that draft tokens: their
    /// weights, and keys and values like the last layers. Embedding and lm_head are shared with the model. Each GPU has
    /// the whole 16-bit projection from hidden state and embedding (`eh_proj` in
    /// `vllm/model_executor/models/deepseek_mtp.py`).
    ///
    /// Assumes: the MTP layers of Qwen3-Next and Qwen3.5 have such a projection on each GPU, too; vLLM divides it.
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
    /// # Ok::<(), rooflut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new); a model without MTP layers; several pipeline stages.
    pub fn try_new_with_mtp(
        model: &ModelSpec,
        gpu: &Gpu,
        parallelism: impl Into<Parallelism>,
        limits: MemoryLimits,
    ) -> Result<MemoryPlan, Error> {
        let parallelism = parallelism.into();
        let layer = model.mtp_layer().map_err(Error::of_model)?;
        layer.check_parallelism(parallelism).map_err(Error::of_model)?;
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
    ) -> Result<MemoryPlan, Error> {
        limits.check()?;
        model.check().map_err(Error::of_model)?;
        model.check_parallelism(parallelism).map_err(Error::of_model)?;
        let plan = |(stage, layers)| {
            let stage = Stage { layers, stage };
            MemoryPlan::of_stage(model, gpu, parallelism, limits, stage, other_bytes)
        };
        // Workers agree on the fewest blocks that one of them has room for.
        let mut stages = (0..).zip(model.stages(parallelism.pp)).map(plan);
        let no_stage = || Err(Invalid::zero("pp").into());
        let first = stages.next().unwrap_or_else(no_stage)?;
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
    ) -> Result<MemoryPlan, Error> {
        let tp = parallelism.tp;
        let usable_bytes = (gpu.mem_bytes as f64 - DRIVER_BYTES) * limits.gpu_memory_utilization;
        let weights = weight_bytes(model, parallelism, &stage);
        let empty = MemoryPlan {
            usable_bytes,
            weight_bytes: weights + replicated_bytes(model, &stage) + other_bytes,
            activation_bytes: activation_bytes(model, gpu, parallelism, &limits, &stage),
            overhead_bytes: overhead_bytes(parallelism, &limits, &stage),
            bytes_per_block: 0.0,
            kv_blocks: 0,
            groups: KvGroups::of(model, tp),
            tp,
            stage: stage.stage,
            limits: MemoryLimits { block_size: grown_block_size(model, tp, &limits), ..limits },
        };
        let token_bytes = token_bytes_of_group(model, tp, limits.kv_dtype, &stage);
        empty.with_blocks(token_bytes)
    }

    /// Returns the plan with the weights and the KV entries of `draft`, the draft model of speculative decoding, added
    /// to the weights and KV entries of the target. A KV block holds the entries of both. The activations of the two
    /// models are not live at the same time, and the target's are assumed to be larger.
    ///
    /// Assumes: the draft's layers join each group of the target's, and windows of the draft free no blocks.
    ///
    /// # Errors
    /// No block fits into memory, or the dimensions of `draft` are invalid or not divisible by the ranks.
    pub fn with_draft(mut self, draft: &ModelSpec) -> Result<MemoryPlan, Error> {
        draft.check().map_err(Error::of_model)?;
        draft.check_parallelism(self.tp).map_err(Error::of_model)?;
        let token_bytes = kv_bytes_per_token(draft, self.tp, self.limits.kv_dtype);
        let (sliced, whole) = (Parallelism::tensor(self.tp), Stage::whole(draft));
        self.weight_bytes += weight_bytes(draft, sliced, &whole) + replicated_bytes(draft, &whole);
        self.with_blocks(token_bytes)
    }

    /// Returns the plan with KV blocks of these bytes per token more.
    fn with_blocks(mut self, token_bytes: f64) -> Result<MemoryPlan, Error> {
        self.bytes_per_block += f64::from(self.limits.block_size) * token_bytes;
        let fixed = self.weight_bytes + self.activation_bytes + self.overhead_bytes;
        self.kv_blocks = ((self.usable_bytes - fixed) / self.bytes_per_block) as u32;
        let needed = self.groups.states.saturating_add(self.groups.full);
        if self.groups.states > 0 && self.kv_blocks > 0 && self.kv_blocks < needed {
            let needed_bytes = f64::from(needed) * self.bytes_per_block;
            let left_bytes = self.usable_bytes - fixed;
            return Err(ErrorKind::StatesDoNotFit { needed_bytes, left_bytes }.into());
        }
        if self.kv_blocks == 0 {
            let needed_bytes = fixed + self.bytes_per_block;
            return Err(ErrorKind::DoesNotFit { needed_bytes, usable_bytes: self.usable_bytes }.into());
        }
        Ok(self)
    }
}

/// Returns the memory that the engine takes beside weights, activations and KV cache on one GPU of a stage. Stages and
/// data-parallel ranks exchange messages in buffers that NCCL has when vLLM looks at the free memory first.
fn overhead_bytes(parallelism: Parallelism, limits: &MemoryLimits, stage: &Stage) -> f64 {
    let engine = &limits.engine;
    let communication = match parallelism.tp {
        1 => 0.0,
        _ => engine.communication_memory,
    };
    let graphs = match graph_sizes(limits) {
        0.0 => 0.0,
        sizes => {
            let layers = f64::from(stage.layers.total());
            engine.graph_memory + sizes * layers * engine.graph_layer_memory
        }
    };
    engine.non_torch_memory + communication + graphs
}

/// Returns the number of batch sizes that CUDA graphs are captured for: 1, 2, 4, the multiples of 8 up to 256 and those
/// of 16 beyond, up to twice the running requests (`_set_cudagraph_sizes` in `vllm/config/vllm.py`).
fn graph_sizes(limits: &MemoryLimits) -> f64 {
    let requests = limits.max_num_seqs.saturating_mul(2);
    let largest = limits.cuda_graph_max_tokens.min(requests);
    let small = [1, 2, 4].into_iter().filter(|size| *size <= largest);
    let sizes = small.count() as u32 + largest.min(256) / 8 + largest.saturating_sub(256) / 16;
    f64::from(sizes)
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;
    use crate::generated::stacks;
    use crate::hardware::{Dtype, gpus};
    use crate::model::{Attention, find};

    #[test]
    fn block_counts_match_reported_ones() {
        let [old, new] = [(&stacks::VLLM_0_11_0, 256), (&stacks::VLLM_0_15_1, 128)];
        // Model, tp, engine and max_num_seqs, max_num_batched_tokens, blocks that vLLM reported on H100.
        let reported = [
            ("llama-2-7b", 1, new, 2048, 7463),
            ("llama-2-70b", 4, new, 2048, 31_357),
            ("mixtral-8x7b", 2, new, 2048, 27_511),
            ("codellama-34b", 2, new, 2048, 26_603),
            ("codellama-34b", 1, old, 64, 2790),
            ("codellama-34b", 1, old, 4096, 2537),
            ("llama-2-7b", 1, old, 4096, 7438),
            ("qwen2.5-7b", 1, old, 4096, 65_833),
        ];
        for (name, tp, (engine, max_num_seqs), max_num_batched_tokens, blocks) in reported {
            let limits =
                MemoryLimits { max_num_batched_tokens, max_num_seqs, ..engine.memory_limits(MemoryLimits::default()) };
            let model = find(name).unwrap().spec;
            let plan = MemoryPlan::try_new(&model, &gpus::H100, tp, limits).unwrap();
            let error = f64::from(plan.kv_blocks) / f64::from(blocks) - 1.0;
            assert!(error.abs() < 0.005, "{name} tp {tp}: {} for {blocks}", plan.kv_blocks);
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
            // The compression to 2,112 values is on each rank, as routers and the rotary table are.
            let compression = 61.0 * 7168.0 * 2112.0 * Dtype::Fp8Block.weight_bytes();
            let replicated = 58.0 * 7168.0 * 256.0 * 2.0 + 163_840.0 * 64.0 * 2.0;
            let divided = |plan: MemoryPlan| plan.weight_bytes - compression - replicated;
            assert!((divided(eight) / divided(sixteen) - 2.0).abs() < 1e-9);
        }
        let uneven = model.check_parallelism(3).unwrap_err();
        assert_eq!(uneven.to_string(), "q_heads: expected a multiple of tp (3), found 128");
    }

    #[test]
    fn engines_differ_in_logits_buffers_and_graphs() {
        let llama = find("llama-3.1-8b").unwrap().spec;
        let plan = |limits: MemoryLimits, tp, max_num_seqs| {
            let limits = limits.with_max_num_seqs(max_num_seqs);
            MemoryPlan::try_new(&llama, &gpus::H100, tp, limits).unwrap()
        };
        let limits = MemoryLimits::default().with_max_num_batched_tokens(8192);
        let [old, new, newer] = [
            stacks::VLLM_0_15_1.memory_limits(limits),
            stacks::VLLM_0_19_0.memory_limits(limits),
            stacks::VLLM_0_20_1.memory_limits(limits),
        ];
        let gib = f64::from(1 << 30);
        // Source: a log of vLLM 0.19.0.
        let measured = plan(new, 1, 1024);
        assert!((measured.weight_bytes / gib - 14.99).abs() < 0.006);
        assert!((measured.activation_bytes / gib - 1.89).abs() < 0.01);
        // The sort holds three times as much per logit.
        let sorted = plan(old, 1, 1024);
        let ratio = sorted.activation_bytes / measured.activation_bytes;
        assert!(ratio > 3.0 && ratio < 50.0 / 14.0, "{ratio}");
        // With few requests the layers have the peak, which the engines share.
        let few = |limits| plan(limits, 1, 16).activation_bytes.to_bits();
        assert_eq!(few(old), few(new));
        let two = plan(new, 2, 1024);
        assert!((two.overhead_bytes / gib - 2.13).abs() < 0.01);
        // 51 graphs of 32 layers, and with 8 requests those of 1, 2, 4, 8 and 16 tokens.
        let aside = |max_num_seqs| {
            let [with, without] = [newer, new].map(|limits| plan(limits, 1, max_num_seqs).overhead_bytes);
            (with - without) / gib
        };
        assert!((aside(1024) - 0.82).abs() < 0.01, "{}", aside(1024));
        let fewer = 46.0 * 32.0 * 0.35 / 1024.0;
        assert!((aside(1024) - aside(8) - fewer).abs() < 1e-9);
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
        let Attention::Gqa(heads) = &mut three_heads.layers[0].attention else { panic!("found latent attention") };
        heads.kv_heads = 3;
        let refused = plan.with_draft(&three_heads).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Invalid(_)), "{refused:?}");
        assert!(refused.to_string().starts_with("model: "), "{refused}");
    }

    #[test]
    fn a_state_that_does_not_fit_is_an_error() {
        let model = find("qwen3.5-27b").unwrap().spec;
        let plan = |utilization| {
            let limits = MemoryLimits::default().with_gpu_memory_utilization(utilization);
            MemoryPlan::try_new(&model, &gpus::H100, 1, limits)
        };
        let lowest = (6000..8000).map(|share| f64::from(share) / 10_000.0);
        let refused: Vec<Error> = lowest.filter_map(|share| plan(share).err()).collect();
        let of_states = |error: &Error| matches!(error.kind(), ErrorKind::StatesDoNotFit { .. });
        let Some(error) = refused.iter().find(|error| of_states(error)) else { panic!("{refused:?}") };
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
        let left = gemma.usable_bytes - gemma.weight_bytes - gemma.activation_bytes - gemma.overhead_bytes;
        assert_eq!(gemma.kv_blocks, (left / gemma.bytes_per_block) as u32);
    }
}
