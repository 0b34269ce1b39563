//! The MFU roofline of BLIS.
//!
//! Source: BLIS's MFU roofline; each formula is documented at its function.

use super::dense::{BYTES_PER_PARAM, DenseModel, Phase};
use super::{CompatPart, CompatSpec, CompatTime};
use crate::lookup::blis::{bilinear_mfu, decode_grid, gemm_curve, linear_mfu, prefill_curve};
use crate::lookup::{MfuCurve, MfuGrid};
use rooflut::hardware::{AttentionShape, Dtype, Gpu};
use rooflut::step::StepBatch;
use rooflut::table::{Class, Provenance, TableSet};
use rooflut_error::Error;

// Published constants for H100.
/// Achieved share of the memory bandwidth, e.
const BANDWIDTH_EFFICIENCY: f64 = 0.82;
/// CPU time per layer, divided by tp, microseconds.
const LAYER_OVERHEAD_US: f64 = 100.0;
/// Prefill attention FLOPs of the full square are divided by this.
const CAUSAL_DIVISOR: f64 = 1.8;

/// Buckets of prefill requests: the first of these that covers context + new tokens.
const BUCKETS: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

/// BLIS's roofline over MFU tables.
///
/// Assumes: 16-bit weights, one dense FFN, a head dimension of hidden / heads, times inversely proportional to tp.
/// Does not model: experts, lm_head, all-reduce.
///
/// ```
/// use rooflut::model;
/// use rooflut_predecessors::step::{Blis, CompatPart};
/// use rooflut::step::{DecodeGroup, StepBatch};
/// use rooflut::table::sets;
/// let llama = model::find("llama-3.1-8b").unwrap().spec;
/// let blis = Blis::try_new(&llama, &sets::H100, 1)?;
/// let decode = [DecodeGroup::uniform(64, 1_000)?];
/// let time = blis.try_step_time(&StepBatch { prefill: &[], decode: &decode })?;
/// assert!(time.part(CompatPart::DecodeCompute) > time.part(CompatPart::Overhead));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Blis {
    model: DenseModel,
    gpu: Gpu,
    tp: f64,
    gemms: LayerGemms,
    prefill: MfuCurve,
    decode: MfuGrid,
}

/// A GEMM and the table chosen for it.
#[derive(Debug, Clone)]
struct Gemm {
    k: f64,
    n: f64,
    curve: MfuCurve,
}

/// The distinct GEMMs of a layer, unsharded.
#[derive(Debug, Clone)]
struct LayerGemms {
    /// Query and output projection.
    square: Gemm,
    /// Key and value projection.
    kv: Gemm,
    /// Gate and up projection.
    gate_up: Gemm,
    down: Gemm,
}

/// Seconds, and the worst provenance involved.
type Timed = (f64, Provenance);

impl Blis {
    /// Creates BLIS's roofline with its published constants, the peaks of the set's GPU and its tables; `tp` may be
    /// any positive number.
    ///
    /// # Errors
    /// Invalid dimensions; a `tp` of 0; a set without a GEMM, prefill or decode attention table.
    pub fn try_new(model: impl Into<CompatSpec>, set: &TableSet, tp: u32) -> Result<Blis, Error> {
        let model = DenseModel::try_new(model.into(), tp)?;
        let shape = AttentionShape {
            dtype: Dtype::Bf16,
            kv_dtype: Dtype::Bf16,
            q_heads: model.q_heads,
            kv_heads: model.kv_heads,
            head_dim: model.head_dim,
            tp,
        };
        Ok(Blis {
            gemms: LayerGemms::try_new(&model, set)?,
            prefill: prefill_curve(set, &shape)?,
            decode: decode_grid(set, &shape)?,
            model,
            gpu: set.gpu().clone(),
            tp: f64::from(tp),
        })
    }

    /// Returns the time of one step, in whole microseconds: the longer phase plus the CPU overhead; 0 for an empty
    /// step.
    ///
    /// # Errors
    /// An MFU of 0.000 in the tables.
    pub fn try_step_time(&self, batch: &StepBatch<'_>) -> Result<CompatTime, Error> {
        let mut time = CompatTime::ZERO;
        if batch.is_empty() {
            return Ok(time);
        }
        let prefill_s = self.add_phase(&mut time, Phase::Prefill, batch)?;
        let decode_s = self.add_phase(&mut time, Phase::Decode, batch)?;
        let overhead_us = LAYER_OVERHEAD_US * self.model.layers / self.tp;
        let overhead_s = overhead_us * 1e-6;
        time.add(CompatPart::Overhead, overhead_s, Class::Measured.inside());
        Ok(time.rounded(prefill_s.max(decode_s) * 1e6 + overhead_us))
    }

    /// Adds the parts of a phase, all layers on one rank, and returns the larger: compute or memory.
    fn add_phase(&self, time: &mut CompatTime, phase: Phase, batch: &StepBatch<'_>) -> Result<f64, Error> {
        if phase.count(batch) <= 0.0 {
            return Ok(0.0);
        }
        let (layer_s, provenance) = match phase {
            Phase::Prefill => self.prefill_compute(batch)?,
            Phase::Decode => self.decode_compute(batch)?,
        };
        let bytes = self.model.phase_bytes(phase, batch);
        let compute_s = self.model.layers * (layer_s / self.tp);
        let memory_s = self.model.layers * (bytes / self.tp / self.bytes_per_s());
        let (compute, memory) = phase.parts();
        time.add(compute, compute_s, provenance);
        time.add(memory, memory_s, provenance);
        Ok(compute_s.max(memory_s))
    }

    /// Returns one layer of prefill: the sum, over the buckets, of the GEMMs over their tokens and their attention.
    fn prefill_compute(&self, batch: &StepBatch<'_>) -> Result<Timed, Error> {
        let mut sum = (0.0, Class::Measured.inside());
        for bucket in BUCKETS {
            let requests = || {
                let all = Phase::Prefill.requests(batch);
                all.filter(move |r| bucket_of(r.context + r.new) == bucket)
            };
            let tokens: f64 = requests().map(|r| r.new).sum();
            if tokens <= 0.0 {
                continue;
            }
            // The causal mask is accounted for by the divisor.
            let pairs: f64 = requests().map(|r| r.new * (r.context + r.new)).sum();
            let flops = 4.0 * self.model.q_width() * pairs;
            let mfu = linear_mfu(&self.prefill, f64::from(bucket))?;
            let attention_s = flops / CAUSAL_DIVISOR / self.flops_per_s(mfu.mfu.0);
            sum = add(sum, self.layer_gemms(tokens)?);
            sum = add(sum, (attention_s, mfu.provenance));
        }
        Ok(sum)
    }

    /// Returns one layer of decode: GEMMs over the requests, and attention at the FLOP-weighted mean of the requests'
    /// MFU.
    fn decode_compute(&self, batch: &StepBatch<'_>) -> Result<Timed, Error> {
        let count = Phase::Decode.count(batch);
        let (mut flops, mut weighted) = (0.0, 0.0);
        let mut provenance = Class::Measured.inside();
        for requests in Phase::Decode.requests(batch) {
            let mfu = bilinear_mfu(&self.decode, count, requests.context)?;
            let share = requests.count * 4.0 * self.model.q_width() * requests.context;
            flops += share;
            weighted += share * mfu.mfu.0;
            provenance = provenance.worst(mfu.provenance);
        }
        let attention_s = if flops > 0.0 { flops / self.flops_per_s(weighted / flops) } else { 0.0 };
        Ok(add(self.layer_gemms(count)?, (attention_s, provenance)))
    }

    /// Returns the GEMMs q, k, v, o, gate, up and down over `m` tokens.
    fn layer_gemms(&self, m: f64) -> Result<Timed, Error> {
        let LayerGemms { square, kv, gate_up, down } = &self.gemms;
        let mut sum = (0.0, Class::Measured.inside());
        for gemm in [square, kv, kv, square, gate_up, gate_up, down] {
            sum = add(sum, self.gemm(gemm, m)?);
        }
        Ok(sum)
    }

    /// Returns max(2mkn / (P x MFU), k n b / (W e)).
    fn gemm(&self, gemm: &Gemm, m: f64) -> Result<Timed, Error> {
        let mfu = linear_mfu(&gemm.curve, m)?;
        let compute_s = 2.0 * m * gemm.k * gemm.n / self.flops_per_s(mfu.mfu.0);
        let load_s = gemm.k * gemm.n * BYTES_PER_PARAM / self.bytes_per_s();
        Ok((compute_s.max(load_s), mfu.provenance))
    }

    /// Returns P x MFU, with the bf16 peak for tables of any dtype.
    fn flops_per_s(&self, mfu: f64) -> f64 {
        self.gpu.bf16_flops_per_s * mfu
    }

    /// Returns W e.
    fn bytes_per_s(&self) -> f64 {
        self.gpu.mem_bw_bytes_per_s * BANDWIDTH_EFFICIENCY
    }
}

impl LayerGemms {
    fn try_new(model: &DenseModel, set: &TableSet) -> Result<LayerGemms, Error> {
        let gemm = |k, n| {
            let curve = gemm_curve(set, k, n)?;
            let (k, n) = (f64::from(k), f64::from(n));
            Ok(Gemm { k, n, curve })
        };
        Ok(LayerGemms {
            square: gemm(model.hidden, model.hidden)?,
            kv: gemm(model.hidden, model.kv_heads * model.head_dim)?,
            gate_up: gemm(model.hidden, model.intermediate)?,
            down: gemm(model.intermediate, model.hidden)?,
        })
    }
}

/// Returns the power of two from 512 to 65,536 that covers `tokens`, or the last one.
fn bucket_of(tokens: f64) -> u32 {
    let covering = BUCKETS.into_iter().find(|&b| f64::from(b) >= tokens);
    covering.unwrap_or(65_536)
}

fn add(a: Timed, b: Timed) -> Timed {
    (a.0 + b.0, a.1.worst(b.1))
}
