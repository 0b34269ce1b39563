//! The kernels of a model's layer, looked up in a table set.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use super::all_reduce::{ACTIVATION_BYTES, NodeAllReduce, StepAllReduce};
use super::attention::StepAttention;
use super::batch::BatchSums;
#[cfg(feature = "alloc")]
use super::exchange::StepExchange;
use super::experts::StepExperts;
use super::finder::Finder;
use super::kernel_time::KernelTime;
use super::kinds::Kinds;
#[cfg(feature = "alloc")]
use super::launch::Launch;
#[cfg(feature = "alloc")]
use super::other_attention::OtherAttention;
use super::part_errors::PartErrors;
use super::ring::Ring;
use super::{Chunk, Parallelism, Part, StepOptions};
use crate::error::{Error, ErrorKind};
use crate::hardware::{AllReduceShape, AttentionShape, Dtype, MoeShape};
#[cfg(feature = "alloc")]
use crate::hardware::{Side, StreamsShape};
use crate::model::{Attention, Ffn, Gqa, LayerGroup, ModelSpec, Span};
#[cfg(feature = "alloc")]
use crate::op::HyperConnection;
use crate::op::{AllReduce, Gemm, Moe};
use crate::table::{ErrorGroup, TableSet};
#[cfg(feature = "alloc")]
use crate::units::Seconds;

/// All kernels of a step, on one rank.
#[derive(Debug, Clone)]
pub(super) struct Kernels {
    /// `None` where the attention includes them.
    pub(super) projections: Kinds<Option<Projections>>,
    pub(super) attention: Kinds<LayerAttention>,
    pub(super) ffn: Kinds<FfnOps>,
    /// Projection to the input of a layer that drafts: of hidden state and embedding in an MTP layer (`eh_proj`), of
    /// hidden states of the target in the first run of an EAGLE-3 head (`fc`); `None` in other models.
    pub(super) draft_input: Option<Gemm>,
    /// The part of an EAGLE-3 head's latent projections that reads the embedding; `None` in other models.
    pub(super) embedded: Option<Gemm>,
    /// Both sides of the hyper-connections of a layer, which has two of each; `None` in models with one residual.
    #[cfg(feature = "alloc")]
    pub(super) streams: Option<[HyperConnection; 2]>,
    /// `None` on a single GPU.
    pub(super) all_reduce: Option<StepAllReduce>,
    pub(super) lm_head: Gemm,
}

/// Fused QKV projection and output projection of the attention; of a gated delta net, queries, keys, values and the
/// gate of the output in one, and the gates of the state.
#[derive(Debug, Clone)]
pub(super) struct Projections {
    pub(super) qkv: Gemm,
    pub(super) state_gates: Option<Gemm>,
    pub(super) o_proj: Gemm,
}

/// The attention of a layer.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // No box: most models have plain attention.
pub(super) enum LayerAttention {
    Plain(StepAttention),
    #[cfg(feature = "alloc")]
    Other(Box<OtherAttention>),
}

/// The kernels of the feed-forward part.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // No box: a model lives without allocation.
pub(super) enum FfnOps {
    Dense(DenseOps),
    Moe {
        router: Gemm,
        experts: StepExperts,
        shared: Option<DenseOps>,
        #[cfg(feature = "alloc")]
        exchange: Option<StepExchange>,
    },
}

/// Fused gate and up projection, or up projection alone, and down projection.
#[derive(Debug, Clone)]
pub(super) struct DenseOps {
    pub(super) gate_up: Gemm,
    pub(super) down: Gemm,
}

impl Kernels {
    /// Looks up every kernel of `model` in `set`. The model must be divisible among the ranks.
    ///
    /// # Errors
    /// An operation, dtype or number of ranks that the set lacks, or a kernel that is worse than `options` accept.
    pub(super) fn resolve(
        model: &ModelSpec,
        set: &TableSet,
        parallelism: Parallelism,
        options: &StepOptions,
    ) -> Result<Kernels, Error> {
        let find = Finder::new(model, set, parallelism, options);
        let layers = &model.layers;
        Ok(Kernels {
            projections: Kinds::resolve(
                layers,
                |group| (group.attention.with_span(Span::Full), group.attention_dtype),
                |(attention, dtype)| find.projections(attention, dtype),
            )?,
            attention: Kinds::resolve(
                layers,
                |group| {
                    let span = group.attention.span().up_to(model.max_model_len);
                    (group.attention.with_span(span), layer_dtype(group))
                },
                |kind| find.attention(kind, options.kv_dtype),
            )?,
            ffn: Kinds::resolve(
                layers,
                |group| (group.ffn, group.ffn_dtype, group.shared_dtype),
                |(ffn, dtype, shared)| find.ffn(ffn, dtype, shared),
            )?,
            draft_input: None,
            embedded: find.embedded()?,
            #[cfg(feature = "alloc")]
            streams: find.streams()?,
            all_reduce: find.all_reduce()?,
            lm_head: find.lm_head()?,
        })
    }
}

impl Kernels {
    /// Looks up every kernel of a layer that drafts, which is a model of its own, with a projection of that many
    /// `inputs` to its hidden size.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub(super) fn resolve_drafting(
        layer: &ModelSpec,
        inputs: u32,
        set: &TableSet,
        parallelism: Parallelism,
        options: &StepOptions,
    ) -> Result<Kernels, Error> {
        let find = Finder::new(layer, set, parallelism, options);
        let draft_input = find.gemm(Part::Qkv, Dtype::Bf16, inputs, layer.hidden)?;
        Ok(Kernels { draft_input: Some(draft_input), ..Kernels::resolve(layer, set, parallelism, options)? })
    }

    /// Returns the errors of the lookups of each part, in most of its layers; none of parts that are not looked up.
    pub(super) fn errors(&self) -> PartErrors {
        let mut errors = PartErrors::UNKNOWN;
        let projections = self.projections.most();
        for gemm in [&self.draft_input, &self.embedded].into_iter().flatten() {
            errors.set(Part::Qkv, gemm.errors());
        }
        #[cfg(feature = "alloc")]
        if let Some([before, _]) = &self.streams {
            errors.set(Part::SmallKernels, before.errors());
        }
        if let Some(projections) = projections {
            errors.set(Part::Qkv, projections.qkv.errors());
            errors.set(Part::OProj, projections.o_proj.errors());
        }
        let [prefill, decode] = self.attention.most().errors();
        errors.set(Part::PrefillAttention, prefill);
        errors.set(Part::DecodeAttention, decode);
        errors.set(Part::LmHead, self.lm_head.errors());
        if let Some(all_reduce) = &self.all_reduce {
            errors.set(Part::AllReduce, all_reduce.errors());
        }
        let kinds = self.ffn.iter().map(|(_, ops)| ops);
        for ops in kinds.chain([self.ffn.most()]) {
            ops.set_errors(&mut errors);
        }
        errors
    }
}

impl LayerAttention {
    fn errors(&self) -> [ErrorGroup; 2] {
        match self {
            LayerAttention::Plain(plain) => plain.errors(),
            #[cfg(feature = "alloc")]
            LayerAttention::Other(other) => other.errors(),
        }
    }

    /// Returns attention of prompt chunks, at least one.
    pub(super) fn prefill(&self, chunks: &[Chunk]) -> KernelTime {
        match self {
            LayerAttention::Plain(plain) => plain.prefill(chunks),
            #[cfg(feature = "alloc")]
            LayerAttention::Other(other) => other.prefill(chunks),
        }
    }

    /// Calls `run` with each kernel of prompt chunks, at least one.
    #[cfg(feature = "alloc")]
    pub(super) fn each_prefill(&self, chunks: &[Chunk], mut run: impl FnMut(KernelTime, Launch)) {
        match self {
            LayerAttention::Plain(plain) => run(plain.prefill(chunks), plain.prefill_launch(chunks)),
            LayerAttention::Other(other) => other.each_prefill(chunks, run),
        }
    }

    /// Calls `run` with each kernel of decoding requests, at least one.
    #[cfg(feature = "alloc")]
    pub(super) fn each_decode(&self, sums: &BatchSums, mut run: impl FnMut(KernelTime, Launch)) {
        match self {
            LayerAttention::Plain(plain) => run(plain.decode(sums), plain.decode_launch(sums)),
            LayerAttention::Other(other) => other.each_decode(sums, run),
        }
    }

    /// Returns attention of decoding requests, at least one.
    #[inline]
    pub(super) fn decode(&self, sums: &BatchSums) -> KernelTime {
        match self {
            LayerAttention::Plain(plain) => plain.decode(sums),
            #[cfg(feature = "alloc")]
            LayerAttention::Other(other) => other.decode(sums),
        }
    }

    /// Returns the time of [`decode`](Self::decode), which does not compute the rest.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(super) fn decode_time(&self, sums: &BatchSums) -> Seconds {
        match self {
            LayerAttention::Plain(plain) => plain.decode_time(sums),
            LayerAttention::Other(other) => other.decode_time(sums),
        }
    }
}

/// Returns the format of the projections where they are part of the attention; attention alone does not depend on it.
fn layer_dtype(group: &LayerGroup) -> Dtype {
    match group.attention {
        Attention::Gqa(_) | Attention::DeltaNet(_) => Dtype::Bf16,
        Attention::Mla(_) | Attention::Compressed(_) | Attention::Msa(_) => group.attention_dtype,
    }
}

impl FfnOps {
    /// Returns the exchange of tokens around the experts, if there is one.
    #[cfg(feature = "alloc")]
    pub(super) fn exchange(&self) -> Option<&StepExchange> {
        match self {
            FfnOps::Dense(_) => None,
            FfnOps::Moe { exchange, .. } => exchange.as_ref(),
        }
    }

    fn set_errors(&self, errors: &mut PartErrors) {
        #[cfg(feature = "alloc")]
        if let Some(exchange) = self.exchange() {
            errors.set(Part::Exchange, exchange.errors());
        }
        let dense = match self {
            FfnOps::Dense(ops) => Some(ops),
            FfnOps::Moe { router, experts, shared, .. } => {
                errors.set(Part::Router, router.errors());
                errors.set(Part::Moe, experts.errors());
                shared.as_ref()
            }
        };
        if let Some(ops) = dense {
            errors.set(Part::GateUp, ops.gate_up.errors());
            errors.set(Part::Down, ops.down.errors());
        }
    }
}

impl Finder<'_> {
    /// Looks up the attention of layers of this kind, with the format of their projections.
    fn attention(&self, kind: (Attention, Dtype), kv_dtype: Dtype) -> Result<LayerAttention, Error> {
        #[cfg(feature = "alloc")]
        if let Some(other) = OtherAttention::resolve(self, kind, kv_dtype)? {
            return Ok(LayerAttention::Other(Box::new(other)));
        }
        let (Attention::Gqa(heads), _) = kind else {
            return Err(Error::needs_alloc(
                "latent and sparse attention, attention over compressed keys and gated delta nets",
            ));
        };
        let shape = self.attention_shape(heads, kv_dtype);
        StepAttention::resolve(self, shape, heads.span).map(LayerAttention::Plain)
    }

    pub(super) fn attention_shape(&self, heads: Gqa, kv_dtype: Dtype) -> AttentionShape {
        // Attention math stays 16-bit with any weights.
        AttentionShape {
            dtype: Dtype::Bf16,
            kv_dtype,
            q_heads: heads.q_heads,
            kv_heads: heads.kv_heads,
            head_dim: heads.head_dim,
            tp: self.parallelism.tp,
        }
    }

    /// Looks up the projections; `None` where the attention includes them.
    fn projections(&self, attention: Attention, dtype: Dtype) -> Result<Option<Projections>, Error> {
        let (qkv, state_gates, output) = match attention {
            Attention::Gqa(heads) => {
                // KV entries of any format: the projections compute 16-bit ones.
                let local = self.attention_shape(heads, Dtype::Bf16).local();
                let q_width = local.q_heads * local.head_dim;
                let kv_width = local.kv_heads * local.head_dim;
                let gate = if heads.output_gate { q_width } else { 0 };
                (q_width + gate + 2 * kv_width, None, q_width)
            }
            Attention::DeltaNet(net) => {
                let local = net.local(self.parallelism.tp);
                let qkvz = local.convolved() + local.values();
                (qkvz, Some(2 * local.v_heads), local.values())
            }
            Attention::Mla(_) | Attention::Compressed(_) | Attention::Msa(_) => return Ok(None),
        };
        let input = self.model.attention_input();
        let state_gates = state_gates.map(|width| self.gemm(Part::Qkv, dtype, input, width));
        Ok(Some(Projections {
            qkv: self.gemm(Part::Qkv, dtype, input, qkv)?,
            state_gates: state_gates.transpose()?,
            o_proj: self.gemm(Part::OProj, dtype, output, self.model.hidden)?,
        }))
    }

    /// Looks up what the latent projections of an EAGLE-3 head have beside those of a layer of its hidden size.
    fn embedded(&self) -> Result<Option<Gemm>, Error> {
        let group = self.model.layers.first();
        let (Some(_), Attention::Mla(mla)) = (self.model.eagle3, group.attention) else {
            return Ok(None);
        };
        let queries = match mla.q_rank {
            0 => (mla.q_heads / self.parallelism.tp) * (mla.nope_dim + mla.rope_dim),
            rank => rank,
        };
        let width = queries.saturating_add(mla.latent());
        self.gemm(Part::Qkv, group.attention_dtype, self.model.hidden, width).map(Some)
    }

    fn lm_head(&self) -> Result<Gemm, Error> {
        let ModelSpec { hidden, vocab, eagle3, .. } = *self.model;
        let vocab = eagle3.map_or(vocab, |head| head.draft_vocab);
        self.gemm(Part::LmHead, Dtype::Bf16, hidden, vocab.div_ceil(self.parallelism.tp))
    }

    fn all_reduce(&self) -> Result<Option<StepAllReduce>, Error> {
        if self.parallelism.tp < 2 {
            return Ok(None);
        }
        let (part, tp, hidden) = (Part::AllReduce, self.parallelism.tp, self.model.hidden);
        // Scatters the reduced parts, then gathers them.
        if let Some(ring) = Ring::find(self, part, 2.0, [tp, tp])? {
            return Ok(Some(StepAllReduce::AcrossNodes {
                ring,
                bytes_per_token: f64::from(hidden) * ACTIVATION_BYTES,
            }));
        }
        let all_reduce = AllReduce::resolve(self.set, AllReduceShape { ranks: tp });
        let all_reduce = self.accept(part, all_reduce, AllReduce::class)?;
        let all_reduce = NodeAllReduce::new(all_reduce, &self.constants, hidden);
        // After it, streams are mixed, and there is no norm to fuse it with.
        let has_norm = self.model.streams == 0;
        let all_reduce = if has_norm { all_reduce.fused(&self.constants, tp) } else { all_reduce };
        Ok(Some(StepAllReduce::InNode(all_reduce)))
    }

    /// Looks up the hyper-connections, in `before` and `after` order.
    #[cfg(feature = "alloc")]
    fn streams(&self) -> Result<Option<[HyperConnection; 2]>, Error> {
        let ModelSpec { hidden, streams, .. } = *self.model;
        let side = |side| {
            let found = HyperConnection::resolve(self.set, StreamsShape { side, hidden, streams });
            self.accept(Part::SmallKernels, found, HyperConnection::class)
        };
        if streams == 0 { Ok(None) } else { Ok(Some([side(Side::Before)?, side(Side::After)?])) }
    }

    fn dense(&self, dtype: Dtype, up: u32, intermediate: u32) -> Result<DenseOps, Error> {
        let (hidden, local) = (self.model.hidden, intermediate / self.parallelism.tp);
        Ok(DenseOps {
            gate_up: self.gemm(Part::GateUp, dtype, hidden, up * local)?,
            down: self.gemm(Part::Down, dtype, local, hidden)?,
        })
    }

    /// Returns the shape to look up: MXFP4 experts that the set has only with MXFP8 activations take that format. vLLM runs
    /// DeepSeek-V4's experts this way on Blackwell (`vllm/model_executor/layers/fused_moe/oracle/mxfp4.py`).
    fn served(&self, layer: MoeShape) -> MoeShape {
        let has = |dtype| {
            let mut entries = self.set.moe().into_iter().flat_map(|table| table.entries());
            entries.any(|entry| {
                let MoeShape { tp, ep, .. } = entry.shape;
                entry.shape == MoeShape { dtype, tp, ep, ..layer }
            })
        };
        let (own, served) = (layer.dtype, Dtype::Mxfp4Mxfp8);
        let is_other = own == Dtype::Mxfp4 && !has(own) && has(served);
        MoeShape { dtype: if is_other { served } else { own }, ..layer }
    }

    fn ffn(&self, ffn: Ffn, dtype: Dtype, shared_dtype: Dtype) -> Result<FfnOps, Error> {
        let (hidden, up) = (self.model.hidden, ffn.up_projections());
        match ffn {
            Ffn::Dense { intermediate, .. } => Ok(FfnOps::Dense(self.dense(dtype, up, intermediate)?)),
            Ffn::Moe { experts, top_k, intermediate, shared_intermediate } => {
                let layer = MoeShape {
                    dtype,
                    experts,
                    top_k,
                    hidden,
                    intermediate,
                    tp: self.parallelism.expert_tp(),
                    ep: self.parallelism.ep(),
                    matrices: up + 1,
                };
                let shared = match shared_intermediate {
                    0 => None,
                    width => Some(self.dense(shared_dtype, up, width)?),
                };
                let layer = self.served(layer);
                // With few tokens its time is fitted, and strictness does not apply to fitted time.
                let failed = |error| ErrorKind::Kernel { part: Part::Moe, error };
                let layer = Moe::resolve(self.set, layer).map_err(failed)?;
                Ok(FfnOps::Moe {
                    experts: StepExperts::new(layer, &self.constants, self.set.measured_gpu()),
                    router: self.gemm(Part::Router, Dtype::Bf16, hidden, experts)?,
                    shared,
                    #[cfg(feature = "alloc")]
                    exchange: StepExchange::resolve(self, experts)?,
                })
            }
        }
    }
}
