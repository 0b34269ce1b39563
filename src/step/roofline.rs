//! The step model: a step as the sum of its kernels.

use super::{LatencyModel, ModelError, Overheads, Part, StepBatch, StepTime};
use crate::error::ResolveError;
use crate::hardware::{AllReduceShape, AttentionShape, Dtype, GemmShape, MoeShape, Rates, Work};
use crate::math::ln;
use crate::model::{Ffn, ModelSpec};
use crate::op::{
    AllReduce, Binding, ChunkSums, DecodeAttention, Gemm, Moe, OpTime, PrefillAttention,
};
use crate::table::{Provenance, Strictness, TableSet};
use crate::units::Seconds;

/// How a model is divided over GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parallelism {
    /// Tensor parallelism: GPUs of one node that share each layer.
    pub tp: u32,
}

impl Parallelism {
    /// One GPU.
    pub const SINGLE: Parallelism = Parallelism { tp: 1 };

    /// `tp` GPUs that share each layer.
    pub const fn tensor(tp: u32) -> Parallelism {
        Parallelism { tp }
    }
}

/// What a step model may be told beside model, tables and parallelism.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepOptions {
    /// Format of the KV entries.
    pub kv_dtype: Dtype,
    /// The worst that a kernel may resolve to: what its answers are at best. A step beyond the measured
    /// ranges can still be worse; [`StepTime::provenance`] tells.
    pub strictness: Strictness,
    /// Time that no table holds.
    pub overheads: Overheads,
}

impl Default for StepOptions {
    /// 16-bit KV entries, any provenance, the overheads of vLLM.
    fn default() -> StepOptions {
        StepOptions {
            kv_dtype: Dtype::Bf16,
            strictness: Strictness::ANY,
            overheads: Overheads::default(),
        }
    }
}

/// A model on a GPU, with every kernel looked up: a step costs a few hundred nanoseconds, cannot fail
/// and does not allocate.
///
/// A step is the sum of, per layer: fused QKV, attention, output projection, the FFN or the experts,
/// two all-reduces and the small kernels; and once: lm_head and sampling of the sampled rows. GEMMs
/// run over all tokens of the step, prefill attention over all chunks in one kernel, decode attention
/// over all decoding requests by the sum of their KV lengths.
///
/// No part is faster than its FLOPs at the peak, its compulsory bytes at the memory bandwidth, or its
/// message over the link.
///
/// Assumes: all ranks alike; kernels of a step one after the other; the memory cold at each kernel.
/// Does not model: pipeline, expert and data parallelism, overlap of communication and math.
///
/// ```
/// use rooflut::model;
/// use rooflut::step::{
///     Chunk, DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepOptions,
/// };
/// use rooflut::table::sets;
///
/// let llama = model::find("llama-3.1-8b").unwrap().spec;
/// let step = RooflineModel::try_new(
///     &llama, &sets::H100, Parallelism::SINGLE, StepOptions::default(),
/// )?;
/// let time = step.step_time(&StepBatch {
///     prefill: &[Chunk { new: 512, context: 0, samples: 1 }],
///     decode: &[DecodeGroup { requests: 64, kv_tokens: 64_000 }],
/// });
/// assert!(time.total().ms() > 5.0 && time.total().ms() < 50.0);
/// # Ok::<(), rooflut::step::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RooflineModel {
    layers: f64,
    hidden: u32,
    vocab: f64,
    qkv: Gemm<'static>,
    o_proj: Gemm<'static>,
    ffn: FfnOps,
    prefill: PrefillAttention<'static>,
    decode: DecodeAttention<'static>,
    all_reduce: Option<AllReduce<'static>>,
    lm_head: Gemm<'static>,
    /// Bytes that the small kernels of a layer move per token.
    small_bytes_per_token: f64,
    /// Bytes that sampling moves per row.
    sampling_bytes_per_row: f64,
    rates: Rates,
    overheads: Overheads,
}

/// The kernels of the feed-forward part.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant)] // No box: a model lives without allocation.
enum FfnOps {
    Dense(GatedOps),
    Moe {
        router: Gemm<'static>,
        experts: Moe<'static>,
        shared: Option<GatedOps>,
    },
}

/// Fused gate and up projection, and down projection.
#[derive(Debug, Clone, Copy)]
struct GatedOps {
    gate_up: Gemm<'static>,
    down: Gemm<'static>,
}

impl RooflineModel {
    /// Looks up every kernel of `model` in `set`, on one of the ranks of `parallelism`.
    ///
    /// # Errors
    /// Dimensions that cannot be or do not divide; an operation, dtype or number of ranks that the set
    /// lacks; a kernel whose answers are worse than `options.strictness` accepts.
    pub fn try_new(
        model: &ModelSpec,
        set: &'static TableSet,
        parallelism: Parallelism,
        options: StepOptions,
    ) -> Result<RooflineModel, ModelError> {
        let tp = parallelism.tp;
        model.check()?;
        model.check_tp(tp)?;
        let find = Finder {
            set,
            model,
            tp,
            strictness: options.strictness,
        };
        let attention = find.attention_shape(options.kv_dtype);
        let local = attention.local();
        let q_width = local.q_heads * local.head_dim;
        let kv_width = local.kv_heads * local.head_dim;
        let dtype = model.weight_dtype;
        Ok(RooflineModel {
            layers: f64::from(model.layers),
            hidden: model.hidden,
            vocab: f64::from(model.vocab),
            qkv: find.gemm(dtype, model.hidden, q_width + 2 * kv_width)?,
            o_proj: find.gemm(dtype, q_width, model.hidden)?,
            ffn: find.ffn()?,
            prefill: find.prefill(attention)?,
            decode: find.decode(attention)?,
            all_reduce: find.all_reduce()?,
            lm_head: find.gemm(Dtype::Bf16, model.hidden, model.vocab.div_ceil(tp))?,
            small_bytes_per_token: small_bytes_per_token(model, tp, q_width, kv_width),
            sampling_bytes_per_row: f64::from(model.vocab) * LOGIT_BYTES,
            rates: set
                .gpu
                .rates(Dtype::Bf16)
                .ok_or(ModelError::Resolve(ResolveError::NoPeak {
                    set,
                    dtype: Dtype::Bf16,
                }))?,
            overheads: options.overheads,
        })
    }

    fn add_layers(&self, step: &mut StepTime, batch: &StepBatch<'_>) {
        let m = batch.tokens() as f64;
        let ln_m = ln(m);
        self.add(step, Part::Qkv, self.qkv.in_step(m, ln_m));
        let mut chunks = ChunkSums::default();
        for chunk in batch.prefill {
            chunks.add(chunk.new, chunk.context);
        }
        if !chunks.is_empty() {
            self.add(step, Part::PrefillAttention, self.prefill.in_step(&chunks));
        }
        let requests = batch.decode_requests();
        if requests > 0 {
            let time = self
                .decode
                .in_step(requests as f64, batch.decode_kv_tokens() as f64);
            self.add(step, Part::DecodeAttention, time);
        }
        self.add(step, Part::OProj, self.o_proj.in_step(m, ln_m));
        self.add_ffn(step, m, ln_m);
        if let Some(all_reduce) = &self.all_reduce {
            let once = all_reduce.in_step(m * f64::from(self.hidden) * ACTIVATION_BYTES);
            self.add(
                step,
                Part::AllReduce,
                OpTime {
                    time: once.time * 2.0,
                    ..once
                },
            );
        }
        let small = self.with_traffic(self.overheads.per_layer, m * self.small_bytes_per_token);
        self.add(step, Part::SmallKernels, small);
    }

    fn add_ffn(&self, step: &mut StepTime, m: f64, ln_m: f64) {
        let mut gated = |ops: &GatedOps| {
            self.add(step, Part::GateUp, ops.gate_up.in_step(m, ln_m));
            self.add(step, Part::Down, ops.down.in_step(m, ln_m));
        };
        match &self.ffn {
            FfnOps::Dense(ops) => gated(ops),
            FfnOps::Moe {
                router,
                experts,
                shared,
            } => {
                if let Some(ops) = shared {
                    gated(ops);
                }
                self.add(step, Part::Moe, router.in_step(m, ln_m));
                self.add(step, Part::Moe, experts.in_step(m, ln_m));
            }
        }
    }

    /// Adds a kernel that runs once per layer.
    fn add(&self, step: &mut StepTime, part: Part, once: OpTime) {
        step.add(part, once.time * self.layers, once.binding, once.provenance);
    }

    /// Constant time and the time of `bytes` of traffic.
    fn with_traffic(&self, constant: Seconds, bytes: f64) -> OpTime {
        let work = Work {
            bytes,
            ..Work::default()
        };
        let time = constant + Seconds(work.bound_s(&self.rates));
        // Not looked up: the origin of the step's time is that of its kernels.
        let provenance = Provenance::Measured;
        OpTime {
            time,
            binding: Binding::of(&work, &self.rates, time),
            provenance,
        }
    }

    fn add_sampling(&self, step: &mut StepTime, rows: f64) {
        let lm_head = self.lm_head.in_step(rows, ln(rows));
        step.add(
            Part::LmHead,
            lm_head.time,
            lm_head.binding,
            lm_head.provenance,
        );
        let constant = self.overheads.per_logit * (rows * self.vocab);
        let sampling = self.with_traffic(constant, rows * self.sampling_bytes_per_row);
        step.add(
            Part::Sampling,
            sampling.time,
            sampling.binding,
            sampling.provenance,
        );
    }
}

impl LatencyModel for RooflineModel {
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
        let mut step = StepTime::ZERO;
        if batch.is_empty() {
            return step;
        }
        self.add_layers(&mut step, batch);
        let rows = batch.sampled_tokens();
        if rows > 0 {
            self.add_sampling(&mut step, rows as f64);
        }
        step
    }
}

/// Bytes of a 16-bit activation.
const ACTIVATION_BYTES: f64 = 2.0;
/// Bytes of a logit, which samplers keep in 32 bits.
const LOGIT_BYTES: f64 = 4.0;

/// Bytes that the small kernels of a layer move per token on one rank: two norms with residual (read
/// two, write two hidden states each), rotary embedding (read and write Q and K), KV write (read and
/// write K and V), activation (read gate and up, write their product).
fn small_bytes_per_token(model: &ModelSpec, tp: u32, q_width: u32, kv_width: u32) -> f64 {
    let activated = match model.ffn {
        Ffn::Dense { intermediate } => f64::from(intermediate),
        // The fused kernel activates its experts itself.
        Ffn::Moe {
            shared_intermediate,
            ..
        } => f64::from(shared_intermediate),
    } / f64::from(tp);
    let (q, kv) = (f64::from(q_width), f64::from(kv_width));
    let values = 8.0 * f64::from(model.hidden) + 2.0 * (q + kv) + 4.0 * kv + 3.0 * activated;
    ACTIVATION_BYTES * values
}

/// Looks kernels of one model up in one set.
struct Finder<'m> {
    set: &'static TableSet,
    model: &'m ModelSpec,
    tp: u32,
    strictness: Strictness,
}

impl Finder<'_> {
    fn attention_shape(&self, kv_dtype: Dtype) -> AttentionShape {
        let ModelSpec {
            q_heads,
            kv_heads,
            head_dim,
            ..
        } = *self.model;
        // Attention math stays 16-bit whatever the weights are.
        AttentionShape {
            dtype: Dtype::Bf16,
            kv_dtype,
            q_heads,
            kv_heads,
            head_dim,
            tp: self.tp,
        }
    }

    fn gemm(&self, dtype: Dtype, k: u32, n: u32) -> Result<Gemm<'static>, ResolveError> {
        let gemm = Gemm::resolve(self.set, GemmShape { dtype, k, n })?;
        self.accept("gemm", gemm, gemm.provenance())
    }

    fn prefill(&self, shape: AttentionShape) -> Result<PrefillAttention<'static>, ResolveError> {
        // Prefill kernels read 16-bit K and V as they were just computed.
        let shape = AttentionShape {
            kv_dtype: shape.dtype,
            ..shape
        };
        let prefill = PrefillAttention::resolve(self.set, shape)?;
        self.accept("prefill", prefill, prefill.provenance())
    }

    fn decode(&self, shape: AttentionShape) -> Result<DecodeAttention<'static>, ResolveError> {
        let decode = DecodeAttention::resolve(self.set, shape)?;
        self.accept("decode", decode, decode.provenance())
    }

    fn all_reduce(&self) -> Result<Option<AllReduce<'static>>, ResolveError> {
        if self.tp < 2 {
            return Ok(None);
        }
        let all_reduce = AllReduce::resolve(self.set, AllReduceShape { ranks: self.tp })?;
        self.accept("allreduce", Some(all_reduce), all_reduce.provenance())
    }

    fn gated(&self, dtype: Dtype, intermediate: u32) -> Result<GatedOps, ResolveError> {
        let (hidden, local) = (self.model.hidden, intermediate / self.tp);
        Ok(GatedOps {
            gate_up: self.gemm(dtype, hidden, 2 * local)?,
            down: self.gemm(dtype, local, hidden)?,
        })
    }

    fn ffn(&self) -> Result<FfnOps, ResolveError> {
        let ModelSpec {
            hidden,
            weight_dtype,
            ..
        } = *self.model;
        match self.model.ffn {
            Ffn::Dense { intermediate } => {
                Ok(FfnOps::Dense(self.gated(weight_dtype, intermediate)?))
            }
            Ffn::Moe {
                experts,
                top_k,
                intermediate,
                shared_intermediate,
                expert_dtype,
                ..
            } => {
                let dtype = expert_dtype;
                let tp = self.tp;
                let shape = MoeShape {
                    dtype,
                    experts,
                    top_k,
                    hidden,
                    intermediate,
                    tp,
                };
                let layer = Moe::resolve(self.set, shape)?;
                let shared = match shared_intermediate {
                    0 => None,
                    width => Some(self.gated(expert_dtype, width)?),
                };
                Ok(FfnOps::Moe {
                    router: self.gemm(Dtype::Bf16, hidden, experts)?,
                    experts: self.accept("moe", layer, layer.provenance())?,
                    shared,
                })
            }
        }
    }

    fn accept<T>(
        &self,
        operation: &'static str,
        kernel: T,
        found: Provenance,
    ) -> Result<T, ResolveError> {
        if self.strictness.accepts(found) {
            return Ok(kernel);
        }
        let (set, accepted) = (self.set, self.strictness.worst());
        Err(ResolveError::TooUncertain {
            set,
            operation,
            found,
            accepted,
        })
    }
}
