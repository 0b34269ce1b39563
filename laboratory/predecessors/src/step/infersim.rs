//! The step model of InferSim.
//!
//! Source: InferSim's published code; each formula is documented at its function.

use super::infersim_tables::Tables;
use super::spec::impossible_ranks;
use super::{CompatPart, CompatSpec, CompatTime};
use crate::lookup::infersim::{floor_mfu, nearest_mfu};
use crate::lookup::{MfuCurve, MfuReading};
use rooflut::hardware::Gpu;
use rooflut::model::{Gqa, ModelSpec};
use rooflut::step::StepBatch;
use rooflut::table::{Class, Provenance, TableSet};
use rooflut::units::Mfu;
use rooflut_error::Error;

/// Bytes of the GB in which the original measures traffic.
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

// The constants of the original, on H100.
/// GFLOP/s in a TFLOP/s, as the original counts them.
const GFLOPS_PER_TFLOPS: f64 = 1024.0;
/// Achieved share of the memory bandwidth.
const MEMORY_SHARE: f64 = 0.8;
/// Achieved share of the link bandwidth.
const LINK_SHARE: f64 = 0.8;
/// MFU of a GEMM without a matching row. The original has no H100, so this is its value for H800.
const GEMM_MFU: Mfu = Mfu(0.35);
/// MFU of decode attention without a table for the shape.
const DECODE_MFU: Mfu = Mfu(0.35);
/// MFU of prefill attention without a table for the shape.
const PREFILL_MFU: Mfu = Mfu(0.9);
/// MFU of a prompt shorter than the first row of its table.
const SHORT_PREFILL_MFU: Mfu = Mfu(0.35);
/// MFU of grouped GEMMs, which have no table.
const MOE_MFU: Mfu = Mfu(0.35);
/// Prefill attention FLOPs of the full square are divided by this.
const CAUSAL_DIVISOR: f64 = 1.8;
/// Bytes of a weight, an activation and a KV entry.
const BYTES_PER_ELEMENT: f64 = 2.0;
/// CPU time of a prefill step, microseconds.
const PREFILL_SCHEDULE_US: f64 = 30_000.0;
/// CPU time of a decode step, microseconds.
const DECODE_SCHEDULE_US: f64 = 5_000.0;

/// InferSim: point estimates for one prefill step or one decode step.
///
/// Assumes: 16-bit weights. Experts without a [`dense_intermediate`](super::CompatSpec::with_dense_intermediate),
/// such as Mixtral's, are treated as one dense FFN. Does not model: lm_head, small kernels, mixed steps.
///
/// ```
/// use rooflut::model;
/// use rooflut_predecessors::step::InferSim;
/// use rooflut::table::sets;
/// let llama = model::find("llama-3.1-8b").unwrap().spec;
/// let infersim = InferSim::try_new(&llama, &sets::H100, 1, 1)?;
/// // At least the scheduling time.
/// assert!(infersim.try_prefill(1024)?.total().ms() > 30.0);
/// assert!(infersim.try_decode(64, 1024)?.total().ms() > 5.0);
/// # Ok::<(), rooflut_error::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct InferSim {
    model: ModelSpec,
    heads: Gqa,
    /// Intermediate size, and (experts, top_k).
    ffn: (u32, Option<(u32, u32)>),
    gpu: Gpu,
    tp: u32,
    world: u32,
    tables: Tables,
}

impl InferSim {
    /// Creates InferSim with its published constants, the peaks of the set's GPU and its tables, for `tp` ranks of
    /// tensor parallelism among `world` ranks. As in the original, divisions by `tp` and `world` truncate.
    ///
    /// # Errors
    /// Invalid dimensions; a `tp` of 0 or above the number of KV heads; a `world` below `tp`; a set without a GEMM,
    /// prefill or decode attention table.
    pub fn try_new(model: impl Into<CompatSpec>, set: &TableSet, tp: u32, world: u32) -> Result<InferSim, Error> {
        let spec = model.into();
        let (model, heads) = (spec.model, spec.heads()?);
        if tp == 0 || tp > heads.kv_heads || world < tp {
            return Err(impossible_ranks(tp, world, heads.kv_heads));
        }
        Ok(InferSim {
            model,
            heads,
            ffn: spec.known_experts(),
            gpu: set.gpu().clone(),
            tp,
            world,
            tables: Tables::try_new(&spec, heads, set, tp, world)?,
        })
    }

    /// Returns the time to prefill one whole prompt; 0 for an empty one.
    ///
    /// # Errors
    /// An MFU of 0.000 in the tables.
    pub fn try_prefill(&self, prompt_tokens: u64) -> Result<CompatTime, Error> {
        let mut time = CompatTime::ZERO;
        self.add_prefill(&mut time, prompt_tokens, prompt_tokens)?;
        Ok(time.summed())
    }

    /// Returns the time of one decode step of `batch` requests with a KV length of `kv_len` each; 0 without requests.
    ///
    /// # Errors
    /// An MFU of 0.000 in the tables.
    pub fn try_decode(&self, batch: u64, kv_len: u64) -> Result<CompatTime, Error> {
        let mut time = CompatTime::ZERO;
        self.add_decode(&mut time, batch, kv_len as f64)?;
        Ok(time.summed())
    }

    /// Returns the time of one step, as far as the original supports it.
    ///
    /// Prefill is one prefill of all new tokens with the longest context + new as prompt length, which equals the
    /// original for equal whole prompts. Decode is one decode step of all requests at their mean KV length. The
    /// original does not mix both: a mixed step is the sum of the two, both scheduling times included.
    ///
    /// # Errors
    /// An MFU of 0.000 in the tables.
    pub fn try_step_time(&self, batch: &StepBatch<'_>) -> Result<CompatTime, Error> {
        let mut time = CompatTime::ZERO;
        let longest = batch.prefill.iter().map(|chunk| chunk.kv_len()).max();
        self.add_prefill(&mut time, longest.unwrap_or(0).into(), batch.prefill_tokens())?;
        let requests = batch.decode_requests();
        let mean_kv = batch.decode_kv_tokens() as f64 / requests.max(1) as f64;
        self.add_decode(&mut time, requests, mean_kv)?;
        Ok(time.summed())
    }

    /// Adds a prefill of `tokens` tokens in prompts of `prompt_len`.
    fn add_prefill(&self, time: &mut CompatTime, prompt_len: u64, tokens: u64) -> Result<(), Error> {
        if prompt_len == 0 || tokens == 0 {
            return Ok(());
        }
        let prompts = tokens.div_ceil(prompt_len) as f64;
        let (core_s, provenance) = self.prefill_core(prompt_len as f64)?;
        self.add_layers(time, CompatPart::PrefillAttention, (core_s * prompts, provenance));
        self.add_tokens(time, tokens as f64)?;
        let schedule_s = PREFILL_SCHEDULE_US * 1e-6;
        time.add(CompatPart::Overhead, schedule_s, Class::Measured.inside());
        Ok(())
    }

    /// Adds a decode step.
    fn add_decode(&self, time: &mut CompatTime, batch: u64, kv_len: f64) -> Result<(), Error> {
        if batch == 0 {
            return Ok(());
        }
        let core = self.decode_core(batch as f64, kv_len)?;
        self.add_layers(time, CompatPart::DecodeAttention, core);
        self.add_tokens(time, batch as f64)?;
        let schedule_s = DECODE_SCHEDULE_US * 1e-6;
        time.add(CompatPart::Overhead, schedule_s, Class::Measured.inside());
        Ok(())
    }

    /// Adds the parts common to prefill and decode, which depend on `m` tokens only.
    fn add_tokens(&self, time: &mut CompatTime, m: f64) -> Result<(), Error> {
        self.add_layers(time, CompatPart::Projections, self.projections(m)?);
        self.add_layers(time, CompatPart::Ffn, self.ffn(m)?);
        if self.world > 1 {
            let communication = (self.communication(m), Class::Measured.inside());
            self.add_layers(time, CompatPart::Communication, communication);
        }
        Ok(())
    }

    /// Adds a part over all layers, given the time of one layer.
    fn add_layers(&self, time: &mut CompatTime, part: CompatPart, layer: (f64, Provenance)) {
        time.add(part, layer.0 * f64::from(self.model.layers.total()), layer.1);
    }

    /// Returns the decode core of a layer: batch x 4 (a/tp) d kv FLOPs, or the load of batch x kv tokens.
    fn decode_core(&self, batch: f64, kv_len: f64) -> Result<(f64, Provenance), Error> {
        let mfu = match &self.tables.decode {
            Some(grid) => nearest_mfu(grid, batch, kv_len)?,
            None => MfuReading::assumed(DECODE_MFU),
        };
        let compute_s = self.math_s(batch * 4.0 * self.rank_q_width() * kv_len, mfu.mfu);
        let load_s = self.load_s(batch * kv_len * self.kv_token_bytes());
        Ok((compute_s.max(load_s), mfu.provenance))
    }

    /// Returns the prefill core of a layer, one prompt: S x 4 (a/tp) d S / 1.8 FLOPs, or the load of S tokens.
    fn prefill_core(&self, s: f64) -> Result<(f64, Provenance), Error> {
        let mfu = match &self.tables.prefill {
            Some(curve) => floor_mfu(curve, s, SHORT_PREFILL_MFU)?,
            None => MfuReading::assumed(PREFILL_MFU),
        };
        let square = s * 4.0 * self.rank_q_width() * s;
        let compute_s = self.math_s(square, mfu.mfu) / CAUSAL_DIVISOR;
        let load_s = self.load_s(s * self.kv_token_bytes());
        Ok((compute_s.max(load_s), mfu.provenance))
    }

    /// Returns the projections of a layer: GEMM(m, H, (a + 2v)/tp d) + GEMM(m, (a/tp) d, H).
    fn projections(&self, m: f64) -> Result<(f64, Provenance), Error> {
        let (mut sum_s, mut worst) = (0.0, Class::Measured.inside());
        for gemm in [&self.tables.qkv, &self.tables.output] {
            let mfu = self.gemm_mfu(gemm.curve.as_ref(), m)?;
            sum_s += self.math_s(2.0 * m * f64::from(gemm.k) * f64::from(gemm.n), mfu.mfu);
            worst = worst.worst(mfu.provenance);
        }
        Ok((sum_s, worst))
    }

    /// Returns the FFN of a layer: m x 3 x 2 H (I/tp) FLOPs at the MFU of GEMM(m, H, 2I/world), or the weight load 3
    /// H (I/tp) bytes / (world/tp). Experts multiply the FLOPs by top_k and the load by their number.
    fn ffn(&self, m: f64) -> Result<(f64, Provenance), Error> {
        let hidden = f64::from(self.model.hidden);
        let (intermediate, experts) = self.ffn;
        let width = f64::from(intermediate / self.tp);
        let flops = m * 3.0 * 2.0 * hidden * width;
        let weights = 3.0 * hidden * width * BYTES_PER_ELEMENT;
        let (flops, weights, mfu) = match experts {
            Some((experts, top_k)) => {
                (flops * f64::from(top_k), weights * f64::from(experts), MfuReading::assumed(MOE_MFU))
            }
            None => {
                let curve = self.tables.gate_up.curve.as_ref();
                (flops, weights, self.gemm_mfu(curve, m)?)
            }
        };
        let load_s = self.load_s(weights) / f64::from(self.world / self.tp);
        Ok((self.math_s(flops, mfu.mfu).max(load_s), mfu.provenance))
    }

    /// Returns the communication of a layer: the ring all-reduce of tensor parallelism, and two exchanges of m x
    /// world x H elements (the original counts both).
    fn communication(&self, m: f64) -> f64 {
        let (tp, world) = (f64::from(self.tp), f64::from(self.world));
        let bytes = m * f64::from(self.model.hidden) * BYTES_PER_ELEMENT;
        let link = self.gpu.link_bytes_per_s / 1e9 * LINK_SHARE;
        let ring_s = bytes * 2.0 * (tp - 1.0) / tp / GIB / link;
        let exchange_s = bytes * world / GIB / link;
        ring_s + 2.0 * exchange_s
    }

    fn gemm_mfu(&self, curve: Option<&MfuCurve>, m: f64) -> Result<MfuReading, Error> {
        curve.map_or(Ok(MfuReading::assumed(GEMM_MFU)), |curve| floor_mfu(curve, m, GEMM_MFU))
    }

    /// Returns FLOPs / 1e9 / (TFLOPs x 1024 x MFU), with the bf16 TFLOPs even for an FP8 MFU.
    fn math_s(&self, flops: f64, mfu: Mfu) -> f64 {
        let tflops = self.gpu.bf16_flops_per_s / 1e12;
        flops / 1e9 / (tflops * GFLOPS_PER_TFLOPS * mfu.0)
    }

    /// Returns bytes / 1024^3 / the achieved GB/s of the memory.
    fn load_s(&self, bytes: f64) -> f64 {
        let gb_per_s = self.gpu.mem_bw_bytes_per_s / 1e9 * MEMORY_SHARE;
        bytes / GIB / gb_per_s
    }

    /// Returns the K and V bytes of one token in one layer on one rank.
    fn kv_token_bytes(&self) -> f64 {
        let kv_heads = f64::from(self.heads.kv_heads / self.tp);
        2.0 * kv_heads * f64::from(self.heads.head_dim) * BYTES_PER_ELEMENT
    }

    /// Returns (a/tp) d.
    fn rank_q_width(&self) -> f64 {
        f64::from(self.heads.q_heads / self.tp) * f64::from(self.heads.head_dim)
    }
}
