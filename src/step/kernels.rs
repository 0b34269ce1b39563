//! The kernels of a model's layer, looked up in a table set.

use super::all_reduce::StepAllReduce;
use super::decode::StepDecode;
use super::experts::StepExperts;
use super::part_errors::PartErrors;
use super::smoothing::smoothed;
use super::{ModelError, Part, StepOptions};
use crate::engine::StepConstants;
use crate::error::ResolveError;
use crate::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape};
use crate::model::{Ffn, ModelSpec};
use crate::op::{AllReduce, DecodeAttention, Gemm, Moe, PrefillAttention};
use crate::table::{Class, Strictness, TableSet};

/// All kernels of a step, on one rank.
#[derive(Debug, Clone)]
pub(super) struct Kernels {
    pub(super) qkv: Gemm,
    pub(super) prefill: PrefillAttention,
    pub(super) decode: StepDecode,
    pub(super) o_proj: Gemm,
    pub(super) ffn: FfnOps,
    /// `None` on a single GPU.
    pub(super) all_reduce: Option<StepAllReduce>,
    pub(super) lm_head: Gemm,
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
    },
}

/// Fused gate and up projection, or up projection alone, and down projection.
#[derive(Debug, Clone)]
pub(super) struct DenseOps {
    pub(super) gate_up: Gemm,
    pub(super) down: Gemm,
}

impl Kernels {
    /// Looks up every kernel of `model` in `set`. The model must be divisible by `tp` ranks.
    ///
    /// # Errors
    /// An operation, dtype or number of ranks that the set lacks, or a kernel that is worse than `options` accept.
    pub(super) fn resolve(
        model: &ModelSpec,
        set: &TableSet,
        tp: u32,
        options: &StepOptions,
    ) -> Result<Kernels, ModelError> {
        let find = Finder {
            set,
            model,
            tp,
            strictness: options.strictness,
            constants: options.constants,
        };
        let attention = find.attention_shape(options.kv_dtype);
        let local = attention.local();
        let q_width = local.q_heads * local.head_dim;
        let kv_width = local.kv_heads * local.head_dim;
        let (hidden, dtype) = (model.hidden, model.weight_dtype);
        Ok(Kernels {
            qkv: find.gemm(Part::Qkv, dtype, hidden, q_width + 2 * kv_width)?,
            prefill: find.prefill(attention)?,
            decode: find.decode(attention)?,
            o_proj: find.gemm(Part::OProj, dtype, q_width, hidden)?,
            ffn: find.ffn()?,
            all_reduce: find.all_reduce()?,
            lm_head: find.gemm(Part::LmHead, Dtype::Bf16, hidden, model.vocab.div_ceil(tp))?,
        })
    }
}

impl Kernels {
    /// Returns the errors of the lookups of each part; none of parts that are not looked up.
    pub(super) fn errors(&self) -> PartErrors {
        let mut errors = PartErrors::UNKNOWN;
        errors.set(Part::Qkv, self.qkv.errors());
        errors.set(Part::PrefillAttention, self.prefill.errors());
        errors.set(Part::DecodeAttention, self.decode.errors);
        errors.set(Part::OProj, self.o_proj.errors());
        errors.set(Part::LmHead, self.lm_head.errors());
        if let Some(all_reduce) = &self.all_reduce {
            errors.set(Part::AllReduce, all_reduce.errors());
        }
        let dense = match &self.ffn {
            FfnOps::Dense(ops) => Some(ops),
            FfnOps::Moe {
                router,
                experts,
                shared,
            } => {
                errors.set(Part::Router, router.errors());
                errors.set(Part::Moe, experts.errors());
                shared.as_ref()
            }
        };
        if let Some(ops) = dense {
            errors.set(Part::GateUp, ops.gate_up.errors());
            errors.set(Part::Down, ops.down.errors());
        }
        errors
    }
}

/// Looks up the kernels of one model in one set.
struct Finder<'m> {
    set: &'m TableSet,
    model: &'m ModelSpec,
    tp: u32,
    strictness: Strictness,
    constants: StepConstants,
}

impl Finder<'_> {
    fn attention_shape(&self, kv_dtype: Dtype) -> AttentionShape {
        let ModelSpec {
            q_heads,
            kv_heads,
            head_dim,
            ..
        } = *self.model;
        // Attention math stays 16-bit with any weights.
        AttentionShape {
            dtype: Dtype::Bf16,
            kv_dtype,
            q_heads,
            kv_heads,
            head_dim,
            tp: self.tp,
        }
    }

    fn gemm(&self, part: Part, dtype: Dtype, k: u32, n: u32) -> Result<Gemm, ModelError> {
        let gemm = Gemm::resolve(self.set, GemmShape { dtype, k, n });
        let smoothed = gemm.map(|gemm| smoothed(gemm, &self.constants));
        self.accept(part, smoothed, Gemm::class)
    }

    fn prefill(&self, shape: AttentionShape) -> Result<PrefillAttention, ModelError> {
        let prefill = PrefillAttention::resolve(self.set, shape);
        self.accept(Part::PrefillAttention, prefill, PrefillAttention::class)
    }

    fn decode(&self, shape: AttentionShape) -> Result<StepDecode, ModelError> {
        let decode = DecodeAttention::resolve(self.set, shape);
        let decode =
            decode.map(|decode| StepDecode::new(&decode, self.set.gpu(), self.constants.cold_kv));
        self.accept(Part::DecodeAttention, decode, StepDecode::class)
    }

    fn all_reduce(&self) -> Result<Option<StepAllReduce>, ModelError> {
        if self.tp < 2 {
            return Ok(None);
        }
        let all_reduce = AllReduce::resolve(self.set, AllReduceShape { ranks: self.tp });
        let all_reduce = self.accept(Part::AllReduce, all_reduce, AllReduce::class)?;
        let hidden = self.model.hidden;
        Ok(Some(StepAllReduce::new(
            all_reduce,
            &self.constants,
            hidden,
        )))
    }

    fn dense(&self, dtype: Dtype, intermediate: u32) -> Result<DenseOps, ModelError> {
        let (hidden, local) = (self.model.hidden, intermediate / self.tp);
        let up = self.model.ffn.up_projections();
        Ok(DenseOps {
            gate_up: self.gemm(Part::GateUp, dtype, hidden, up * local)?,
            down: self.gemm(Part::Down, dtype, local, hidden)?,
        })
    }

    fn ffn(&self) -> Result<FfnOps, ModelError> {
        let ModelSpec {
            hidden,
            weight_dtype,
            ..
        } = *self.model;
        match self.model.ffn {
            Ffn::Dense { intermediate, .. } => {
                Ok(FfnOps::Dense(self.dense(weight_dtype, intermediate)?))
            }
            Ffn::Moe {
                experts,
                top_k,
                intermediate,
                shared_intermediate,
                expert_dtype: dtype,
                ..
            } => {
                let layer = MoeShape {
                    dtype,
                    experts,
                    top_k,
                    hidden,
                    intermediate,
                    tp: self.tp,
                };
                let shared = match shared_intermediate {
                    0 => None,
                    width => Some(self.dense(dtype, width)?),
                };
                // With few tokens its time is fitted, and strictness does not apply to fitted time.
                let layer = Moe::resolve(self.set, layer);
                let part = Part::Moe;
                let layer = layer.map_err(|error| ModelError::Kernel { part, error })?;
                Ok(FfnOps::Moe {
                    experts: StepExperts::new(layer, &self.constants),
                    router: self.gemm(Part::Router, Dtype::Bf16, hidden, experts)?,
                    shared,
                })
            }
        }
    }

    fn accept<K>(
        &self,
        part: Part,
        kernel: Result<K, ResolveError>,
        class: fn(&K) -> Class,
    ) -> Result<K, ModelError> {
        let kernel = kernel.map_err(|error| ModelError::Kernel { part, error })?;
        match self.strictness.check(class(&kernel).inside()) {
            Ok(()) => Ok(kernel),
            Err(error) => Err(ModelError::TooUncertain {
                part,
                set: self.set.name_text(),
                error,
            }),
        }
    }
}
