//! The calibrated roofline: fitted constants, no tables.
//!
//! Source: the calibrated roofline that preceded BLIS's MFU tables; each formula is documented at its function.

use super::dense::{DenseModel, Phase};
use super::{CompatPart, CompatSpec, CompatTime};
use rooflut::hardware::Gpu;
use rooflut::step::StepBatch;
use rooflut::table::Class;
use rooflut_error::Error;
use rooflut_roofline::math::{exp, ln};

// Published constants for H100, identical to those for A100.
/// Achieved share of the memory bandwidth, e.
const BANDWIDTH_EFFICIENCY: f64 = 0.72;
/// CPU time of a step, T, microseconds.
const OVERHEAD_US: f64 = 500.0;
/// MFU of prefill GEMMs, m_p.
const PREFILL_MFU: f64 = 0.65;
/// Multiplier of that MFU, M_p.
const PREFILL_MULTIPLIER: f64 = 2.20;
/// MFU of decode GEMMs, m_d.
const DECODE_MFU: f64 = 0.12;
/// Multiplier of that MFU, M_d.
const DECODE_MULTIPLIER: f64 = 1.80;
/// Power of tp that divides prefill FLOPs, x.
const PREFILL_TP_EXPONENT: f64 = 0.13;
/// Factor of the bandwidth in prefill, B_p.
const PREFILL_BANDWIDTH: f64 = 0.75;
/// Factor of the bandwidth in decode, B_d.
const DECODE_BANDWIDTH: f64 = 0.92;
/// Peak of vector math as a share of the matrix peak, f.
const VECTOR_SHARE: f64 = 0.10;
/// One all-reduce, microseconds.
const ALL_REDUCE_US: f64 = 20.0;
/// CPU time per prefill request of a step without decode, microseconds.
const PER_PREFILL_US: f64 = 500.0;
/// CPU time per prefill request of a mixed step, microseconds.
const PER_MIXED_PREFILL_US: f64 = 150.0;

/// BLIS's older roofline, calibrated on A100 and H100.
///
/// Assumes: 16-bit weights, one dense FFN, a head dimension of hidden / heads.
///
/// ```
/// use rooflut::hardware::gpus;
/// use rooflut::model;
/// use rooflut_predecessors::step::Calibrated;
/// use rooflut::step::{Chunk, StepBatch};
/// let llama = model::find("llama-2-7b").unwrap().spec;
/// let calibrated = Calibrated::try_new(&llama, &gpus::H100, 1)?;
/// let prompt = [Chunk::prompt(1_024)?];
/// let time = calibrated.try_step_time(&StepBatch { prefill: &prompt, decode: &[] })?;
/// assert_eq!(time.total().us().round(), 13_170.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Calibrated {
    model: DenseModel,
    gpu: Gpu,
    tp: f64,
}

impl Calibrated {
    /// Creates the calibrated roofline with its published constants; `tp` may be any positive number.
    ///
    /// # Errors
    /// Invalid dimensions; a `tp` of 0.
    pub fn try_new(model: impl Into<CompatSpec>, gpu: &Gpu, tp: u32) -> Result<Calibrated, Error> {
        Ok(Calibrated { model: DenseModel::try_new(model.into(), tp)?, gpu: gpu.clone(), tp: f64::from(tp) })
    }

    /// Returns the time of one step, in whole microseconds; 0 for an empty step.
    ///
    /// # Errors
    /// Never fails, because it uses no tables. The signature matches the other two models.
    pub fn try_step_time(&self, batch: &StepBatch<'_>) -> Result<CompatTime, Error> {
        if batch.is_empty() {
            return Ok(CompatTime::ZERO);
        }
        let mut time = CompatTime::ZERO;
        let prefill_s = self.add_phase(&mut time, Phase::Prefill, batch);
        let decode_s = self.add_phase(&mut time, Phase::Decode, batch);
        let mixed_s = mix((prefill_s, Phase::Prefill.tokens(batch)), (decode_s, Phase::Decode.tokens(batch)));
        let mut total_us = mixed_s * 1e6;
        if self.tp > 1.0 {
            // Two all-reduces per layer.
            let all_reduce_us = 2.0 * self.model.layers * ALL_REDUCE_US;
            time.add(CompatPart::AllReduce, all_reduce_us * 1e-6, Class::Bound.outside());
            total_us += all_reduce_us;
        }
        let overhead_us = self.overhead_us(batch);
        time.add(CompatPart::Overhead, overhead_us * 1e-6, Class::Bound.outside());
        Ok(time.rounded(total_us + overhead_us))
    }

    /// Adds the parts of a phase and returns the larger: compute or memory.
    ///
    /// Compute is GEMM FLOPs at the phase's MFU plus vector FLOPs at the vector peak, divided by tp (to a small power
    /// in prefill). Memory is bytes at the phase's bandwidth.
    fn add_phase(&self, time: &mut CompatTime, phase: Phase, batch: &StepBatch<'_>) -> f64 {
        if phase.count(batch) <= 0.0 {
            return 0.0;
        }
        let (shards, mfu, bandwidth) = match phase {
            Phase::Prefill => {
                (exp(PREFILL_TP_EXPONENT * ln(self.tp)), PREFILL_MFU * PREFILL_MULTIPLIER, PREFILL_BANDWIDTH)
            }
            Phase::Decode => (self.tp, DECODE_MFU * DECODE_MULTIPLIER, DECODE_BANDWIDTH),
        };
        let (gemm, vector) = self.layer_flops(phase, batch);
        let (layers, peak) = (self.model.layers, self.gpu.bf16_flops_per_s);
        let bytes = layers * self.model.phase_bytes(phase, batch);
        let bytes_per_s = self.gpu.mem_bw_bytes_per_s * BANDWIDTH_EFFICIENCY * bandwidth;
        let compute_s = layers * gemm / shards / (peak * mfu) + layers * vector / shards / (VECTOR_SHARE * peak);
        let memory_s = bytes / self.tp / bytes_per_s;
        let (compute, memory) = phase.parts();
        time.add(compute, compute_s, Class::Bound.outside());
        time.add(memory, memory_s, Class::Bound.outside());
        compute_s.max(memory_s)
    }

    /// Returns the FLOPs per layer: GEMMs 2n x weights, vector 4 a n c' (d + 1), where c' is the mean context of the
    /// new tokens.
    fn layer_flops(&self, phase: Phase, batch: &StepBatch<'_>) -> (f64, f64) {
        let (q_width, q_heads) = (self.model.q_width(), f64::from(self.model.q_heads));
        let all = phase.requests(batch);
        all.fold((0.0, 0.0), |(gemm, vector), requests| {
            let new = requests.new;
            let context = requests.context + (new - 1.0) / 2.0;
            (
                gemm + requests.count * 2.0 * new * self.model.layer_params(),
                vector + requests.count * 4.0 * new * context * (q_width + q_heads),
            )
        })
    }

    /// Returns T, increased for more than two requests, plus CPU time per prefill request.
    fn overhead_us(&self, batch: &StepBatch<'_>) -> f64 {
        let prefill = Phase::Prefill.count(batch);
        let decode = Phase::Decode.count(batch);
        let requests = prefill + decode;
        let growth = if requests > 2.0 { 0.15 * log2(requests / 2.0) * (0.3 + 2.0 * decode / requests) } else { 0.0 };
        let per_prefill_us = if decode > 0.0 { PER_MIXED_PREFILL_US } else { PER_PREFILL_US };
        OVERHEAD_US * (1.0 + growth) + prefill * per_prefill_us
    }
}

/// Combines the phases of a step, weighted by fixed shares if one has far more tokens, or else by tokens. Each is
/// (seconds, tokens).
fn mix((prefill_s, prefill): (f64, f64), (decode_s, decode): (f64, f64)) -> f64 {
    if prefill <= 0.0 || decode <= 0.0 {
        // One of the two is zero.
        prefill_s + decode_s
    } else if prefill > 4.0 * decode && prefill > 100.0 {
        0.75 * prefill_s + 0.25 * decode_s
    } else if decode > 2.0 * prefill && decode > 50.0 {
        0.35 * prefill_s + 0.65 * decode_s
    } else {
        (prefill_s * prefill + decode_s * decode) / (prefill + decode)
    }
}

fn log2(x: f64) -> f64 {
    ln(x) / std::f64::consts::LN_2
}
