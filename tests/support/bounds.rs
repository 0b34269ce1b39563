//! Lower bounds on the time of a step.

use rooflut::hardware::{Dtype, GemmShape};
use rooflut::step::Part;

use super::oracle::{activation_bytes, decode_work, expected_bytes, prefill_work, weight_bytes};
use super::steps::{Batch, Sharded};
use super::tables::Tables;

impl Sharded {
    /// Returns lower bounds on the seconds of a step on one rank: FLOPs at the peaks, compulsory bytes at the
    /// memory bandwidth (all weights once, but only the experts that one token visits; all KV entries
    /// once), messages over the link.
    pub(crate) fn floors(&self, tables: &Tables, batch: &Batch) -> [f64; 3] {
        let step = batch.as_step();
        let (m, rows) = (step.tokens(), step.sampled_tokens());
        let layers = f64::from(self.spec.layers.total());
        let mut compute = 0.0;
        let mut bytes = 0.0;
        for call in self.gemms(m, rows) {
            let weights = f64::from(call.shape.k) * f64::from(call.shape.n) * call.times;
            compute += 2.0 * call.rows as f64 * weights / tables.peak(call.shape.dtype);
            bytes += weights * weight_bytes(call.shape.dtype);
        }
        if let Some(experts) = self.experts() {
            let width = f64::from(experts.intermediate) / f64::from(self.tp);
            let weights = f64::from(experts.top_k) * 3.0 * f64::from(experts.hidden) * width * layers;
            compute += 2.0 * m as f64 * weights / tables.peak(experts.dtype);
            bytes += weights * weight_bytes(experts.dtype);
        }
        let attention = self.attention_shape(self.kv_dtype);
        let (_, kv_heads) = self.local_heads();
        let kv_bytes = 2.0 * f64::from(kv_heads) * f64::from(self.heads().head_dim) * weight_bytes(self.kv_dtype);
        let chunks = batch.chunks();
        let kv_tokens = step.decode_kv_tokens() as f64;
        let (prefill, _) = prefill_work(attention, &chunks);
        let (decode, _) = decode_work(attention, step.decode_requests() as f64, kv_tokens);
        compute += layers * (prefill + decode) / tables.gpu.bf16;
        let cached: f64 = chunks.iter().map(|&(new, context)| f64::from(new) + f64::from(context)).sum();
        bytes += layers * (cached + kv_tokens) * kv_bytes;
        let messages = if self.tp > 1 { 2.0 * layers } else { 0.0 };
        let link = messages * m as f64 * f64::from(self.spec.hidden) * 2.0 / tables.gpu.link;
        [compute, bytes / tables.gpu.bandwidth, link]
    }

    /// Returns a lower bound on the seconds of each measured part on one rank: the largest of its FLOPs at
    /// the peak, its bytes (weights, activations, KV entries; the experts reached on average) at the
    /// memory bandwidth and its messages over the link.
    pub(crate) fn part_bounds(&self, tables: &Tables, batch: &Batch) -> Vec<(Part, f64)> {
        let step = batch.as_step();
        let (m, rows) = (step.tokens(), step.sampled_tokens());
        let layers = f64::from(self.spec.layers.total());
        let bound = |flops: f64, bytes: f64, dtype| (flops / tables.peak(dtype)).max(bytes / tables.gpu.bandwidth);
        let mut bounds: Vec<(Part, f64)> = Vec::new();
        for call in self.gemms(m, rows) {
            let GemmShape { dtype, k, n } = call.shape;
            let (tokens, k, n) = (call.rows as f64, f64::from(k), f64::from(n));
            let operands = tokens * k * activation_bytes(dtype) + k * n * weight_bytes(dtype);
            let bytes = operands + tokens * n * 2.0;
            let seconds = call.times * bound(2.0 * tokens * k * n, bytes, dtype);
            bounds.push((call.part, seconds));
        }
        if let Some(experts) = self.experts() {
            let bytes = expected_bytes(experts, m as f64);
            let weights = 3.0 * f64::from(experts.hidden) * f64::from(experts.intermediate);
            let visited = f64::from(experts.top_k) * weights / f64::from(self.tp);
            let seconds = layers * bound(2.0 * m as f64 * visited, bytes, experts.dtype);
            bounds.push((Part::Moe, seconds));
        }
        let attention = self.attention_shape(Dtype::Bf16);
        let chunks = batch.chunks();
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
            let variances = if self.heads().joint_qk_norm { step.tokens() as f64 * 8.0 } else { 0.0 };
            bounds.push((Part::AllReduce, layers * (2.0 * message + variances) / tables.gpu.link));
        }
        bounds
    }
}
