//! Models and batches for tests of the step model.

use rooflut::hardware::{Dtype, GemmShape, MoeShape};
use rooflut::model::{Attention, CATALOG, Ffn, Gqa, LayerGroup, ModelSpec, Span};
use rooflut::step::{Chunk, DecodeGroup, Part, StepBatch};

use super::attention;
use super::oracle::weight_bytes;
use super::random::Random;

/// A model of the catalogue on a number of GPUs that can share it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sharded {
    pub(crate) name: &'static str,
    pub(crate) spec: ModelSpec,
    pub(crate) tp: u32,
    pub(crate) kv_dtype: Dtype,
}

/// Every model of the catalogue whose layers are alike and attend to all tokens, and one without gates, with every tp
/// of an NVLink node that divides it, and both KV formats.
pub(crate) fn all() -> Vec<Sharded> {
    let mut all = Vec::new();
    let catalogue = CATALOG.iter().map(|entry| (entry.name, entry.spec));
    let alike = catalogue.filter(|(_, spec)| spec.layers.len() == 1 && spec.limited_span() == Span::Full);
    for (name, spec) in alike.chain([("apertus-8b", ungated())]) {
        for tp in [1, 2, 4, 8] {
            for kv_dtype in [Dtype::Bf16, Dtype::Fp8] {
                if divides(&spec, tp) {
                    all.push(Sharded { name, spec, tp, kv_dtype });
                }
            }
        }
    }
    all
}

/// A model whose FFNs have no gate.
fn ungated() -> ModelSpec {
    let builder = ModelSpec::builder()
        .hidden(4096)
        .layers(32)
        .q_heads(32)
        .kv_heads(8)
        .head_dim(128)
        .intermediate(21_504)
        .gated(false);
    let spec = builder.vocab(131_072).max_model_len(65_536).build();
    spec.unwrap()
}

/// A model of the catalogue on `tp` GPUs, with 16-bit KV entries.
pub(crate) fn named(name: &str, tp: u32) -> Sharded {
    let all = all().into_iter();
    let mut named = all.filter(|sharded| sharded.name == name && sharded.tp == tp);
    named.find(|sharded| sharded.kv_dtype == Dtype::Bf16).unwrap()
}

fn divides(spec: &ModelSpec, tp: u32) -> bool {
    spec.check_parallelism(tp).is_ok()
}

/// A batch that owns its parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) prefill: Vec<Chunk>,
    pub(crate) decode: Vec<DecodeGroup>,
}

impl Batch {
    /// A prompt chunk that samples nothing.
    pub(crate) fn chunk(new: u32, context: u32) -> Batch {
        Batch { prefill: vec![Chunk::partial(new, context + new).unwrap()], decode: Vec::new() }
    }

    /// Decoding requests with `each` KV tokens.
    pub(crate) fn decoding(requests: u32, each: u32) -> Batch {
        Batch { prefill: Vec::new(), decode: vec![DecodeGroup::uniform(requests, each).unwrap()] }
    }

    /// New tokens and context of each chunk.
    pub(crate) fn chunks(&self) -> Vec<(u32, u32)> {
        let chunks = self.prefill.iter();
        chunks.map(|chunk| (chunk.new_tokens(), chunk.context())).collect()
    }

    pub(crate) fn as_step(&self) -> StepBatch<'_> {
        StepBatch { prefill: &self.prefill, decode: &self.decode }
    }

    /// A random batch: prefill only, decode only or both, from one token to far beyond the tables.
    pub(crate) fn random(random: &mut Random) -> Batch {
        let mut batch = Batch::default();
        let kind = random.between(0, 2);
        if kind != 1 {
            for _ in 0..random.between(1, 8) {
                let context = match random.between(0, 1) {
                    0 => 0,
                    _ => random.log(131_072),
                };
                let new = random.log(16_384);
                let chunk = match random.between(0, 1) {
                    0 => Chunk::partial(new, context + new),
                    _ => Chunk::last(new, context + new),
                };
                batch.prefill.push(chunk.unwrap());
            }
        }
        if kind != 0 {
            for _ in 0..random.between(1, 8) {
                let requests = random.log(600);
                let each = u64::from(random.log(131_072));
                let more = random.between(0, u64::from(requests) - 1);
                let kv_tokens = u64::from(requests) * each + more;
                batch.decode.push(DecodeGroup::from_sum(requests, kv_tokens).unwrap());
            }
        }
        batch
    }
}

/// A GEMM of a step: its shape on one rank, its rows, and the number of runs.
pub(crate) struct GemmCall {
    pub(crate) part: Part,
    pub(crate) shape: GemmShape,
    pub(crate) rows: u64,
    pub(crate) times: f64,
}

impl Sharded {
    /// The attention heads of a layer.
    pub(crate) fn heads(&self) -> Gqa {
        match self.spec.layers[0].attention {
            Attention::Gqa(heads) => heads,
            other => panic!("{other:?}"),
        }
    }

    /// Query and KV heads of one rank; each rank has at least one KV head.
    pub(crate) fn local_heads(&self) -> (u32, u32) {
        let kv_heads = (self.heads().kv_heads / self.tp).max(1);
        (self.heads().q_heads / self.tp, kv_heads)
    }

    /// All GEMMs of a step of `m` tokens of which `rows` are sampled.
    pub(crate) fn gemms(&self, m: u64, rows: u64) -> Vec<GemmCall> {
        let ModelSpec { hidden, vocab, .. } = self.spec;
        let LayerGroup { layers, attention_dtype, ffn_dtype, .. } = self.spec.layers[0];
        let head_dim = self.heads().head_dim;
        let (q_heads, kv_heads) = self.local_heads();
        let mut calls = Vec::new();
        let mut call = |part, dtype, k, n, rows, times: u32| {
            let shape = GemmShape { dtype, k, n };
            calls.push(GemmCall { part, shape, rows, times: f64::from(times) });
        };
        let q_width = q_heads * head_dim;
        call(Part::Qkv, attention_dtype, hidden, q_width + 2 * kv_heads * head_dim, m, layers);
        call(Part::OProj, attention_dtype, q_width, hidden, m, layers);
        let dense = match self.spec.layers[0].ffn {
            Ffn::Dense { intermediate, .. } => intermediate,
            Ffn::Moe { experts, shared_intermediate, .. } => {
                call(Part::Router, Dtype::Bf16, hidden, experts, m, layers);
                shared_intermediate
            }
            other => panic!("{other:?}"),
        };
        if dense > 0 {
            let wide = self.up_projections() * dense / self.tp;
            call(Part::GateUp, ffn_dtype, hidden, wide, m, layers);
            call(Part::Down, ffn_dtype, dense / self.tp, hidden, m, layers);
        }
        if rows > 0 {
            call(Part::LmHead, Dtype::Bf16, hidden, vocab.div_ceil(self.tp), rows, 1);
        }
        calls
    }

    /// The routed experts of a layer.
    pub(crate) fn experts(&self) -> Option<MoeShape> {
        match self.spec.layers[0].ffn {
            Ffn::Moe { experts, top_k, intermediate, .. } => Some(MoeShape {
                dtype: self.spec.layers[0].ffn_dtype,
                experts,
                top_k,
                hidden: self.spec.hidden,
                intermediate,
                tp: self.tp,
                ep: 1,
                matrices: 3,
            }),
            _ => None,
        }
    }

    pub(crate) fn attention_shape(&self, kv_dtype: Dtype) -> rooflut::hardware::AttentionShape {
        let shape = attention(kv_dtype, self.heads().q_heads, self.heads().kv_heads, self.tp);
        rooflut::hardware::AttentionShape { head_dim: self.heads().head_dim, ..shape }
    }

    /// Gate and up projection, or up projection alone.
    fn up_projections(&self) -> u32 {
        match self.spec.layers[0].ffn {
            Ffn::Dense { gated, .. } => 1 + u32::from(gated),
            _ => 2,
        }
    }

    /// Bytes that the small kernels of a layer move per token on one rank, 16 bits per value except for
    /// stored K and V: two norms with residual (read two, write two hidden states each), rotary embedding
    /// (Q and K), KV write (read K and V, write them), activation (read gate and up, write their product).
    pub(crate) fn small_kernel_bytes(&self) -> f64 {
        let (q_heads, kv_heads) = self.local_heads();
        let head_dim = f64::from(self.heads().head_dim);
        let (q, kv) = (f64::from(q_heads) * head_dim, f64::from(kv_heads) * head_dim);
        // Routed experts activate inside their kernel.
        let activated = match self.spec.layers[0].ffn {
            Ffn::Dense { intermediate, .. } => intermediate,
            Ffn::Moe { shared_intermediate, .. } => shared_intermediate,
            other => panic!("{other:?}"),
        };
        let norms = 2.0 * 4.0 * f64::from(self.spec.hidden);
        let rotary = 2.0 * (q + kv);
        let kv_read = 2.0 * kv;
        let kv_written_bytes = 2.0 * kv * weight_bytes(self.kv_dtype);
        let copies = self.up_projections() + 1;
        let activation = f64::from(copies * activated) / f64::from(self.tp);
        2.0 * (norms + rotary + kv_read + activation) + kv_written_bytes
    }
}
