//! Models and batches for tests of the step model, and what a step cannot do without.

use rooflut::hardware::{Dtype, GemmShape, MoeShape};
use rooflut::model::{CATALOG, Ffn, ModelSpec};
use rooflut::step::{Chunk, DecodeGroup, Part, StepBatch};

use super::attention;
use super::oracle::{activation_bytes, decode_work, prefill_work, weight_bytes};
use super::random::Random;
use super::tables::Tables;

/// A model of the catalogue on a number of GPUs that can share it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sharded {
    pub(crate) name: &'static str,
    pub(crate) spec: ModelSpec,
    pub(crate) tp: u32,
    pub(crate) kv_dtype: Dtype,
}

/// Every model of the catalogue with every tp of an NVLink node that divides it, and both KV formats.
pub(crate) fn all() -> Vec<Sharded> {
    let mut all = Vec::new();
    for entry in &CATALOG {
        for tp in [1, 2, 4, 8] {
            for kv_dtype in [Dtype::Bf16, Dtype::Fp8] {
                if divides(&entry.spec, tp) {
                    let (name, spec) = (entry.name, entry.spec);
                    all.push(Sharded {
                        name,
                        spec,
                        tp,
                        kv_dtype,
                    });
                }
            }
        }
    }
    all
}

fn divides(spec: &ModelSpec, tp: u32) -> bool {
    let ffn = match spec.ffn {
        Ffn::Dense { intermediate } => intermediate.is_multiple_of(tp),
        Ffn::Moe {
            intermediate,
            shared_intermediate,
            ..
        } => intermediate.is_multiple_of(tp) && shared_intermediate.is_multiple_of(tp),
        _ => false,
    };
    let kv = spec.kv_heads.is_multiple_of(tp) || tp.is_multiple_of(spec.kv_heads);
    ffn && kv && spec.q_heads.is_multiple_of(tp)
}

/// A batch that owns its parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) prefill: Vec<Chunk>,
    pub(crate) decode: Vec<DecodeGroup>,
}

impl Batch {
    pub(crate) fn as_step(&self) -> StepBatch<'_> {
        StepBatch {
            prefill: &self.prefill,
            decode: &self.decode,
        }
    }

    /// Prefill only, decode only or both; from one token to far beyond the tables.
    pub(crate) fn random(random: &mut Random) -> Batch {
        let mut batch = Batch::default();
        let kind = random.between(0, 2);
        if kind != 1 {
            for _ in 0..random.between(1, 8) {
                let context = match random.between(0, 1) {
                    0 => 0,
                    _ => random.log(131_072),
                };
                batch.prefill.push(Chunk {
                    new: random.log(16_384),
                    context,
                    samples: random.between(0, 1) as u32,
                });
            }
        }
        if kind != 0 {
            for _ in 0..random.between(1, 8) {
                let requests = random.log(600);
                let each = u64::from(random.log(131_072));
                let more = random.between(0, u64::from(requests) - 1);
                batch.decode.push(DecodeGroup {
                    requests,
                    kv_tokens: u64::from(requests) * each + more,
                });
            }
        }
        batch
    }
}

/// One GEMM of a step: its shape on one rank, its rows, and how often it runs.
pub(crate) struct GemmCall {
    pub(crate) part: &'static str,
    pub(crate) shape: GemmShape,
    pub(crate) rows: u64,
    pub(crate) times: f64,
}

impl Sharded {
    /// Query and KV heads of one rank; each rank has a KV head of its own at least.
    fn local_heads(&self) -> (u32, u32) {
        let kv_heads = (self.spec.kv_heads / self.tp).max(1);
        (self.spec.q_heads / self.tp, kv_heads)
    }

    /// All GEMMs of a step of `m` tokens of which `rows` are sampled.
    pub(crate) fn gemms(&self, m: u64, rows: u64) -> Vec<GemmCall> {
        let ModelSpec {
            hidden,
            layers,
            head_dim,
            vocab,
            weight_dtype,
            ..
        } = self.spec;
        let (q_heads, kv_heads) = self.local_heads();
        let mut calls = Vec::new();
        let mut call = |part, dtype, k, n, rows, times: u32| {
            let shape = GemmShape { dtype, k, n };
            calls.push(GemmCall {
                part,
                shape,
                rows,
                times: f64::from(times),
            });
        };
        let q_width = q_heads * head_dim;
        call(
            "qkv",
            weight_dtype,
            hidden,
            q_width + 2 * kv_heads * head_dim,
            m,
            layers,
        );
        call("o_proj", weight_dtype, q_width, hidden, m, layers);
        let (dense, dtype) = match self.spec.ffn {
            Ffn::Dense { intermediate } => (intermediate, weight_dtype),
            Ffn::Moe {
                experts,
                shared_intermediate,
                expert_dtype,
                ..
            } => {
                call("router", Dtype::Bf16, hidden, experts, m, layers);
                (shared_intermediate, expert_dtype)
            }
            other => panic!("{other:?}"),
        };
        if dense > 0 {
            call("gate_up", dtype, hidden, 2 * dense / self.tp, m, layers);
            call("down", dtype, dense / self.tp, hidden, m, layers);
        }
        if rows > 0 {
            call(
                "lm_head",
                Dtype::Bf16,
                hidden,
                vocab.div_ceil(self.tp),
                rows,
                1,
            );
        }
        calls
    }

    /// The routed experts of a layer.
    pub(crate) fn experts(&self) -> Option<MoeShape> {
        match self.spec.ffn {
            Ffn::Moe {
                experts,
                top_k,
                intermediate,
                expert_dtype,
                ..
            } => Some(MoeShape {
                dtype: expert_dtype,
                experts,
                top_k,
                hidden: self.spec.hidden,
                intermediate,
                tp: self.tp,
            }),
            _ => None,
        }
    }

    pub(crate) fn attention_shape(&self, kv_dtype: Dtype) -> rooflut::hardware::AttentionShape {
        let shape = attention(kv_dtype, self.spec.q_heads, self.spec.kv_heads, self.tp);
        rooflut::hardware::AttentionShape {
            head_dim: self.spec.head_dim,
            ..shape
        }
    }

    /// Seconds below which one rank cannot do a step: FLOPs at the peaks, compulsory bytes at the
    /// memory bandwidth (all weights once, of experts only as many as one token visits; all KV
    /// entries once), messages over the link.
    pub(crate) fn floors(&self, tables: &Tables, batch: &Batch) -> [f64; 3] {
        let step = batch.as_step();
        let (m, rows) = (step.tokens(), step.sampled_tokens());
        let layers = f64::from(self.spec.layers);
        let mut compute = 0.0;
        let mut bytes = 0.0;
        for call in self.gemms(m, rows) {
            let weights = f64::from(call.shape.k) * f64::from(call.shape.n) * call.times;
            compute += 2.0 * call.rows as f64 * weights / tables.peak(call.shape.dtype);
            bytes += weights * weight_bytes(call.shape.dtype);
        }
        if let Some(experts) = self.experts() {
            let width = f64::from(experts.intermediate) / f64::from(self.tp);
            let weights =
                f64::from(experts.top_k) * 3.0 * f64::from(experts.hidden) * width * layers;
            compute += 2.0 * m as f64 * weights / tables.peak(experts.dtype);
            bytes += weights * weight_bytes(experts.dtype);
        }
        let attention = self.attention_shape(self.kv_dtype);
        let (_, kv_heads) = self.local_heads();
        let kv_bytes =
            2.0 * f64::from(kv_heads) * f64::from(self.spec.head_dim) * weight_bytes(self.kv_dtype);
        let chunks: Vec<_> = batch
            .prefill
            .iter()
            .map(|chunk| (chunk.new, chunk.context))
            .collect();
        let kv_tokens = step.decode_kv_tokens() as f64;
        let (prefill, _) = prefill_work(attention, &chunks);
        let (decode, _) = decode_work(attention, step.decode_requests() as f64, kv_tokens);
        compute += layers * (prefill + decode) / tables.gpu.bf16;
        let cached: f64 = chunks
            .iter()
            .map(|&(new, context)| f64::from(new) + f64::from(context))
            .sum();
        bytes += layers * (cached + kv_tokens) * kv_bytes;
        let messages = if self.tp > 1 { 2.0 * layers } else { 0.0 };
        let link = messages * m as f64 * f64::from(self.spec.hidden) * 2.0 / tables.gpu.link;
        [compute, bytes / tables.gpu.bandwidth, link]
    }

    /// Seconds below which one rank cannot do each part that is measured: the larger of its FLOPs at
    /// the peak, its bytes (weights, activations, KV entries) at the memory bandwidth and its
    /// messages over the link.
    pub(crate) fn part_bounds(&self, tables: &Tables, batch: &Batch) -> Vec<(Part, f64)> {
        let step = batch.as_step();
        let (m, rows) = (step.tokens(), step.sampled_tokens());
        let layers = f64::from(self.spec.layers);
        let bound = |flops: f64, bytes: f64, dtype| {
            (flops / tables.peak(dtype)).max(bytes / tables.gpu.bandwidth)
        };
        let mut bounds: Vec<(Part, f64)> = Vec::new();
        for call in self.gemms(m, rows) {
            let GemmShape { dtype, k, n } = call.shape;
            let (tokens, k, n) = (call.rows as f64, f64::from(k), f64::from(n));
            let operands = tokens * k * activation_bytes(dtype) + k * n * weight_bytes(dtype);
            let bytes = operands + tokens * n * 2.0;
            let seconds = call.times * bound(2.0 * tokens * k * n, bytes, dtype);
            match Part::ALL.into_iter().find(|part| part.name() == call.part) {
                Some(part) => bounds.push((part, seconds)),
                None => panic!("{}", call.part),
            }
        }
        if let Some(experts) = self.experts() {
            let (hidden, top_k) = (f64::from(experts.hidden), f64::from(experts.top_k));
            let weights = top_k * 3.0 * hidden * f64::from(experts.intermediate / self.tp);
            let activations = m as f64 * hidden * (activation_bytes(experts.dtype) + 2.0);
            let bytes = weights * weight_bytes(experts.dtype) + activations;
            let seconds = layers * bound(2.0 * m as f64 * weights, bytes, experts.dtype);
            bounds.push((Part::Moe, seconds));
        }
        let attention = self.attention_shape(Dtype::Bf16);
        let chunks: Vec<_> = (batch.prefill.iter())
            .map(|chunk| (chunk.new, chunk.context))
            .collect();
        let works = [
            (Part::PrefillAttention, prefill_work(attention, &chunks)),
            (
                Part::DecodeAttention,
                decode_work(
                    self.attention_shape(self.kv_dtype),
                    step.decode_requests() as f64,
                    step.decode_kv_tokens() as f64,
                ),
            ),
        ];
        for (part, (flops, bytes)) in works {
            if bytes > 0.0 {
                bounds.push((part, layers * bound(flops, bytes, Dtype::Bf16)));
            }
        }
        if self.tp > 1 {
            let message = m as f64 * f64::from(self.spec.hidden) * 2.0;
            bounds.push((Part::AllReduce, 2.0 * layers * message / tables.gpu.link));
        }
        bounds
    }
}
