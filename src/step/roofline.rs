//! The step model: a step as the sum of its kernels.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use super::all_reduce::ACTIVATION_BYTES;
use super::batch::BatchSums;
use super::kernel_time::KernelTime;
use super::kernels::{DenseOps, FfnOps, Kernels, Projections};
use super::kinds::Kinds;
use super::launch::{Launch, Sink};
use super::part_errors::PartErrors;
use super::sampling::StepSampler;
#[cfg(feature = "alloc")]
use super::transfer::Transfer;
use super::{Binding, Chunk, LatencyModel, Parallelism, Part, StepBatch, StepModel, StepOptions, StepTime};
use crate::constants::LATENT_LAYER_SHARE;
use crate::engine::StepConstants;
use crate::error::{Error, ErrorKind, ResolveError};
#[cfg(feature = "alloc")]
use crate::hardware::OperationKind;
use crate::hardware::{Dtype, Rates};
use crate::math::{larger, ln};
use crate::model::{Attention, Ffn, LayerGroup, ModelSpec, Span};
use crate::op::Gemm;
use crate::table::TableSet;
use crate::units::Seconds;

/// A model on a GPU with all kernels resolved. A step costs a few hundred nanoseconds, cannot fail and does not
/// allocate.
///
/// A step is the sum of, per layer: fused QKV, attention, output projection, the FFN or the experts, two all-reduces
/// and the small kernels; and once: lm_head and sampling of the sampled rows. GEMMs run over all tokens of the step and
/// prefill attention over all chunks in one kernel. Decode attention runs over all decoding requests by the sum of
/// their KV lengths. KV entries are read once, regardless of the number of drafted tokens that attend to them.
///
/// No part is faster than its FLOPs at the peak, its compulsory bytes at the memory bandwidth, or its message over
/// the link.
///
/// Assumes: identical ranks; kernels of a step run one after the other, except that shared experts run beside the
/// routed experts if the engine has a stream for them; operands come from memory in each kernel. Does not model:
/// overlap of communication and math.
///
/// With data parallelism, a batch belongs to one rank, and the other ranks have equal batches; ranks with different
/// batches have a [`lockstep_time`](LatencyModel::lockstep_time).
///
/// ```
/// use rooflut::model;
/// use rooflut::step::{
///     Chunk, DecodeGroup, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions,
/// };
/// use rooflut::table::sets;
///
/// let llama = model::find("llama-3.1-8b").unwrap().spec;
/// let step = RooflineModel::try_new(
///     &llama, &sets::H100, Parallelism::SINGLE, StepOptions::default(),
/// )?;
/// let time = step.step_time(&StepBatch {
///     prefill: &[Chunk::prompt(512)?],
///     decode: &[DecodeGroup::uniform(64, 1_000)?],
/// });
/// assert!(time.total().ms() > 5.0 && time.total().ms() < 50.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RooflineModel {
    /// The pipeline stages after this one.
    #[cfg(feature = "alloc")]
    pub(super) following: Vec<RooflineModel>,
    /// Transfer to the next stage, or `None` if it is the last, which samples.
    #[cfg(feature = "alloc")]
    pub(super) transfer: Option<Transfer>,
    /// All-reduces of a step.
    all_reduces: f64,
    /// All-reduces of the variances of queries and keys.
    norm_all_reduces: f64,
    /// Data-parallel ranks.
    pub(super) dp: u32,
    pub(super) kernels: Kernels,
    sampler: StepSampler,
    small_kernels: Kinds<SmallKernels>,
    /// Number of layers.
    #[cfg(feature = "alloc")]
    layers: f64,
    rates: Rates,
    /// Share of the memory bandwidth that GEMMs reach at most.
    sustained_reads: f64,
    errors: PartErrors,
    pub(super) engine: StepConstants,
    /// Wait for the host of a step without prompt tokens, and of one with some that runs as a CUDA graph or does not.
    hosts: [Seconds; 3],
}

impl RooflineModel {
    /// Creates the model of a pipeline stage, of which `model` has the layers and `kernels` are the kernels.
    pub(super) fn stage(
        model: &ModelSpec,
        set: &TableSet,
        parallelism: Parallelism,
        options: &StepOptions,
        kernels: Kernels,
    ) -> Result<RooflineModel, Error> {
        let tp = parallelism.tp;
        let dtype = Dtype::Bf16;
        let gpu = set.gpu();
        let no_peak =
            || ErrorKind::Kernel { part: Part::SmallKernels, error: ResolveError::NoPeak { set: set.clone(), dtype } };
        let rates = gpu.rates(dtype).ok_or_else(no_peak)?;
        let mut errors = kernels.errors();
        let share = set.unmeasured_errors().map(|(_, share)| share);
        errors.lookup_share = share.unwrap_or(options.constants.lookup_error_share);
        errors.model = options.constants.error_of(model, gpu);
        let small_kernels = Kinds::resolve(
            &model.layers,
            |group| SmallKernels {
                bytes_per_token: small_bytes_per_token(model, group, tp, options.kv_dtype),
                launches: match group.attention {
                    Attention::Gqa(_) | Attention::DeltaNet(_) => options.constants.layer,
                    Attention::Mla(_) | Attention::Compressed(_) | Attention::Msa(_) => {
                        options.constants.layer * LATENT_LAYER_SHARE
                    }
                },
            },
            Ok,
        )?;
        Ok(RooflineModel {
            #[cfg(feature = "alloc")]
            following: Vec::new(),
            #[cfg(feature = "alloc")]
            transfer: None,
            errors,
            all_reduces: all_reduces(model, parallelism),
            norm_all_reduces: joint_qk_norms(model),
            dp: parallelism.dp,
            kernels,
            sampler: StepSampler::new(model, &options.constants, &rates),
            small_kernels,
            #[cfg(feature = "alloc")]
            layers: model.layers.total().into(),
            rates,
            sustained_reads: options.constants.sustained_reads,
            engine: match options.cuda_graph_max_tokens {
                Some(tokens) => options.constants.with_cuda_graph_max_tokens(tokens),
                None => options.constants,
            },
            hosts: hosts(model, &options.constants),
        })
    }

    /// Returns whether data-parallel ranks share the experts.
    pub(super) fn shares_experts(&self) -> bool {
        self.dp > 1
    }

    /// Adds the parts that depend on the number of tokens alone, if all data-parallel ranks have as many.
    pub(super) fn add_tokens(&self, step: &mut impl Sink, tokens: u64) {
        self.add_own_tokens(step, tokens);
        #[cfg(feature = "alloc")]
        if self.shares_experts() {
            self.add_shared(step, tokens);
        }
    }

    /// Adds the parts that depend on the number of tokens of the rank alone.
    pub(super) fn add_own_tokens(&self, step: &mut impl Sink, tokens: u64) {
        let padded = self.engine.padded_tokens(tokens);
        let routed = self.engine.routed_tokens(tokens, padded) as f64;
        let m = padded as f64;
        let ln_m = ln(m);
        let kernels = &self.kernels;
        for gemm in [&kernels.draft_input, &kernels.embedded].into_iter().flatten() {
            step.run(Part::Qkv, 1.0, self.gemm(gemm, m, ln_m), || Some(Launch::of_gemm(gemm, m)));
        }
        kernels.projections.each(|layers, projections| {
            if let Some(Projections { qkv, state_gates, o_proj }) = projections {
                let mut add = |part, gemm| {
                    step.run(part, layers, self.gemm(gemm, m, ln_m), || Some(Launch::of_gemm(gemm, m)));
                };
                add(Part::Qkv, qkv);
                add(Part::OProj, o_proj);
                if let Some(gates) = state_gates {
                    add(Part::Qkv, gates);
                }
            }
        });
        kernels.ffn.each(|layers, ffn| {
            self.add_ffn(step, ffn, layers, [routed, m, ln_m]);
        });
        #[cfg(feature = "alloc")]
        if self.shares_experts() {
            self.add_rejoined(step, m);
        }
        if let Some(all_reduce) = &kernels.all_reduce {
            let once = all_reduce.at(m);
            step.run(Part::AllReduce, self.all_reduces, once, || all_reduce.launch(m));
            if self.norm_all_reduces > 0.0 {
                let once = all_reduce.of_variances(m);
                step.run(Part::AllReduce, self.norm_all_reduces, once, || all_reduce.launch_of_variances(m));
            }
        }
        #[cfg(feature = "alloc")]
        if let Some(transfer) = &self.transfer {
            step.run(Part::Transfer, 1.0, transfer.at(m), || None);
        }
        self.small_kernels.each(|layers, small| {
            let once = self.small_kernels(small, m);
            step.run(Part::SmallKernels, layers, once, || Some(Launch::traffic(m * small.bytes_per_token)));
        });
        #[cfg(feature = "alloc")]
        if let Some(sides) = &kernels.streams {
            for side in sides {
                let once = KernelTime::of(side.at_mean(m), &side.work(m), side.reference());
                // Around the attention and the FFN.
                step.run(Part::SmallKernels, 2.0 * self.layers, once, || {
                    Some(Launch::new(OperationKind::HyperConnection, side.shape(), side.work(m)))
                });
            }
        }
    }

    /// Returns the sums of a batch with the rows that are sampled: of a layer that drafts one for each request.
    #[inline]
    pub(super) fn sampled(&self, sums: BatchSums) -> BatchSums {
        match self.kernels.draft_input {
            None => sums,
            Some(_) => sums.with_a_row_each(),
        }
    }

    /// Returns attention of prompt chunks, over all layers, or `None` without chunks.
    #[inline]
    pub(super) fn prefill_attention(&self, prefill: &[Chunk]) -> Option<KernelTime> {
        if prefill.is_empty() {
            return None;
        }
        Some(self.kernels.attention.sum(|kind| kind.prefill(prefill)))
    }

    /// Returns attention of decoding requests, over all layers, or `None` without requests.
    #[inline]
    pub(super) fn decode_attention(&self, sums: &BatchSums) -> Option<KernelTime> {
        let all = || self.kernels.attention.sum(|kind| kind.decode(sums));
        (sums.requests > 0).then(all)
    }

    /// Returns the time of [`decode_attention`](Self::decode_attention).
    #[cfg(feature = "alloc")]
    #[inline]
    pub(super) fn decode_attention_time(&self, sums: &BatchSums) -> Option<Seconds> {
        let all = || self.kernels.attention.time(|kind| kind.decode_time(sums));
        (sums.requests > 0).then(all)
    }

    /// Returns the projection of the sampled rows to the vocabulary and their sampling, or `None` without rows.
    pub(super) fn sampling(&self, rows: u64) -> Option<[(Part, KernelTime); 2]> {
        #[cfg(feature = "alloc")]
        if self.transfer.is_some() {
            return None;
        }
        if rows == 0 {
            return None;
        }
        let rows = rows as f64;
        Some([
            (Part::LmHead, self.gemm(&self.kernels.lm_head, rows, ln(rows))),
            (Part::Sampling, self.sampler.rows(rows)),
        ])
    }

    /// Returns the time of waiting for the host.
    #[inline]
    pub(super) fn host(&self, prefill: &[Chunk], sums: &BatchSums) -> Seconds {
        let [without_prompts, captured, uncaptured] = self.hosts;
        let step = match prefill {
            [] => without_prompts,
            _ if sums.tokens <= self.engine.cuda_graph_max_tokens.into() => captured,
            _ => uncaptured,
        };
        let requests = sums.requests as f64 + prefill.len() as f64;
        step + self.engine.host_request * requests
    }

    /// Adds the FFNs of `layers` layers. `m` is the padded number of tokens; routed experts process `routed_tokens`, and
    /// shared ones run beside them in small steps.
    ///
    /// Source: `_maybe_setup_shared_experts_stream` in vLLM, `vllm/model_executor/layers/fused_moe/layer.py`.
    fn add_ffn(&self, step: &mut impl Sink, ffn: &FfnOps, layers: f64, [routed_tokens, m, ln_m]: [f64; 3]) {
        let mut free = Seconds::ZERO;
        let dense = match ffn {
            FfnOps::Dense(ops) => Some(ops),
            FfnOps::Moe { router, experts, shared, .. } => {
                step.run(Part::Router, layers, self.gemm(router, m, ln_m), || Some(Launch::of_gemm(router, m)));
                if !self.shares_experts() {
                    let routed = experts.at(routed_tokens, ln(routed_tokens));
                    step.run(Part::Moe, layers, routed, || Some(experts.launch(routed_tokens)));
                    if m <= f64::from(self.engine.shared_expert_tokens) {
                        free = routed.time;
                    }
                }
                shared.as_ref()
            }
        };
        if let Some(DenseOps { gate_up, down }) = dense {
            for (part, gemm) in [(Part::GateUp, gate_up), (Part::Down, down)] {
                let once = self.gemm(gemm, m, ln_m).beside(&mut free);
                step.run(part, layers, once, || Some(Launch::of_gemm(gemm, m)));
            }
        }
    }

    /// Returns a GEMM of `m` rows with weights that come from memory, at most at the sustained rates of its math and of
    /// its reads.
    fn gemm(&self, gemm: &Gemm, m: f64, ln_m: f64) -> KernelTime {
        let (work, reference) = (gemm.work(m), gemm.reference());
        let table = KernelTime::of(gemm.at_ln(m, ln_m), &work, reference);
        let math = work.flops * reference.rates.s_per_flop / self.engine.sustained_math;
        let reads = work.bytes * reference.rates.s_per_byte / self.sustained_reads;
        let sustained = larger(math, reads);
        if sustained > table.time.0 { table.plus_fitted(Seconds(sustained - table.time.0)) } else { table }
    }

    /// Returns the small kernels of a layer: their launches, or their traffic if it takes longer.
    fn small_kernels(&self, small: &SmallKernels, m: f64) -> KernelTime {
        let bytes = m * small.bytes_per_token;
        let traffic = bytes * self.rates.s_per_byte / self.engine.small_kernel_bandwidth;
        let launches = small.launches;
        let binding = if traffic > launches.0 { Binding::Memory } else { Binding::Latency };
        KernelTime::fitted(launches.max(Seconds(traffic)), binding)
    }
}

/// The small kernels of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SmallKernels {
    /// Bytes that they move per token.
    bytes_per_token: f64,
    launches: Seconds,
}

impl LatencyModel for RooflineModel {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        self.step_time(batch).total()
    }

    #[cfg(feature = "alloc")]
    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        self.lockstep(ranks, self)
    }

    #[cfg(feature = "alloc")]
    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        for stage in self.stages() {
            run(stage.stage_time(batch).total());
        }
    }
}

impl StepModel for RooflineModel {
    /// Returns the time of a step, added up over the pipeline stages.
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
        #[cfg(feature = "alloc")]
        if !self.following.is_empty() {
            return self.all_stages_time(batch);
        }
        self.stage_time(batch)
    }
}

impl RooflineModel {
    /// Returns the time of a step in this pipeline stage.
    #[inline]
    pub(super) fn stage_time(&self, batch: &StepBatch<'_>) -> StepTime {
        if batch.is_empty() {
            return StepTime::ZERO;
        }
        let sums = self.sampled(batch.sums());
        let mut step = StepTime::with_errors(self.errors);
        self.add_tokens(&mut step, sums.tokens);
        if let Some(all) = self.prefill_attention(batch.prefill) {
            step.add_kernel(Part::PrefillAttention, all);
        }
        // FlashAttention runs both as one kernel, yet the sum is nearer: with the larger of both, mean errors of TTFT grow
        // nearly everywhere, for the load stages on H100 from 4.9 to 5.5 %.
        if let Some(all) = self.decode_attention(&sums) {
            step.add_kernel(Part::DecodeAttention, all);
        }
        for (part, once) in self.sampling(sums.rows).into_iter().flatten() {
            step.add_kernel(part, once);
        }
        let host = self.host(batch.prefill, &sums);
        if host > Seconds::ZERO {
            step.add_kernel(Part::Host, KernelTime::fitted(host, Binding::Latency));
        }
        step
    }
}

/// Returns the number of all-reduces of a step: after the attention and after the FFN, unless the GPUs of a rank exchange
/// its tokens around the experts.
fn all_reduces(model: &ModelSpec, parallelism: Parallelism) -> f64 {
    let layers = f64::from(2 * model.layers.total());
    if parallelism.divides_tokens() {
        let groups = model.layers.iter();
        let with_experts = groups.filter(|group| matches!(group.ffn, Ffn::Moe { .. }));
        return layers - with_experts.map(|group| f64::from(group.layers)).sum::<f64>();
    }
    layers
}

/// Returns the number of layers with norms of queries and keys over all heads.
fn joint_qk_norms(model: &ModelSpec) -> f64 {
    let groups = model.layers.iter();
    let joint = groups.filter(|group| matches!(group.attention, Attention::Gqa(heads) if heads.joint_qk_norm));
    joint.map(|group| f64::from(group.layers)).sum()
}

/// Returns the time in which the GPU waits for the host: in a step without prompt tokens, and in one with some that runs
/// as a CUDA graph or does not.
fn hosts(model: &ModelSpec, engine: &StepConstants) -> [Seconds; 3] {
    let layers = |is_counted: fn(&LayerGroup) -> bool| -> f64 {
        let groups = model.layers.iter();
        groups.filter(|group| is_counted(group)).map(|group| f64::from(group.layers)).sum()
    };
    let all = layers(|_| true);
    let routed = layers(|group| matches!(group.ffn, Ffn::Moe { .. }));
    // Attention over compressed keys has many small kernels outside of CUDA graphs, too.
    let states = layers(|group| matches!(group.attention, Attention::DeltaNet(_) | Attention::Compressed(_)));
    let launches = if layers(|group| matches!(group.attention.span(), Span::Chunk(_))) > 0.0 {
        [engine.uncaptured_layer * all; 3]
    } else {
        let prompts = engine.prompt_layer * all + engine.prompt_moe_layer * routed;
        [Seconds::ZERO, prompts + engine.prompt_state_layer * states, prompts + engine.uncaptured_state_layer * states]
    };
    launches.map(|launches| engine.host + launches)
}

/// Returns the bytes that the small kernels of a layer move per token on one rank: two norms with residual (read two,
/// write two hidden states each; read and write one where hyper-connections take the residuals), rotary embedding (read and write Q and K), KV write (read K and V, write them as
/// stored), activation (read gate, where there is one, and up; write one), gate of the output (read both, write one).
fn small_bytes_per_token(model: &ModelSpec, group: &LayerGroup, tp: u32, kv_dtype: Dtype) -> f64 {
    let activated = match group.ffn {
        Ffn::Dense { intermediate, .. } => f64::from(intermediate),
        // The fused kernel includes the activation of its experts.
        Ffn::Moe { shared_intermediate, .. } => f64::from(shared_intermediate),
    } / f64::from(tp);
    let copies = f64::from(group.ffn.up_projections() + 1);
    // The kernels around latent attention are in its rows.
    let (q, kv, gated) = match group.attention {
        Attention::Gqa(heads) => {
            let head_dim = f64::from(heads.head_dim);
            let q = f64::from(heads.q_heads / tp) * head_dim;
            let gated = if heads.output_gate { q } else { 0.0 };
            (q, f64::from(group.attention.kv_values(tp)) / 2.0, gated)
        }
        Attention::Mla(_) | Attention::Compressed(_) | Attention::Msa(_) => (0.0, 0.0, 0.0),
        Attention::DeltaNet(net) => (0.0, 0.0, f64::from(net.local(tp).values())),
    };
    let gates = 3.0 * gated;
    let states = if model.streams > 0 { 4.0 } else { 8.0 };
    let values = states * f64::from(model.hidden) + 2.0 * (q + kv) + 2.0 * kv + copies * activated + gates;
    ACTIVATION_BYTES * values + kv_dtype.weight_bytes() * 2.0 * kv
}
