//! Lookup methods between measured rows: rooflut's own and those of the predecessors.

use core::fmt;

use super::{LookupError, MfuCurve, MfuGrid, blis, infersim};
use crate::error::ResolveError;
use crate::hardware::{AttentionShape, GemmShape, Gpu, Prompts, Work};
use crate::op::{DecodeAttention, Estimate, Gemm, PrefillAttention};
use crate::table::{Class, TableSet};
use crate::units::Mfu;

/// The method of a lookup, for cross-checks with the predecessors on the same tables.
///
/// ```
/// use rooflut::hardware::{Dtype, GemmShape};
/// use rooflut::op::compat::Method;
/// use rooflut::table::sets;
///
/// let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 4096 };
/// let ours = Method::Efficiency.gemm(&sets::H100, shape, 100)?;
/// let theirs = Method::InferSim.gemm(&sets::H100, shape, 100)?;
/// // InferSim takes the MFU of 96 rows, which includes more padding.
/// assert!(theirs.time > ours.time);
/// # Ok::<(), rooflut::op::compat::MethodError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Method {
    /// Rooflut's own: efficiency against the roofline, interpolated in logarithms.
    #[default]
    Efficiency,
    /// InferSim: the MFU of the next smaller (GEMM, prefill) or the nearest (decode) row.
    InferSim,
    /// BLIS: MFU interpolated linearly.
    Blis,
}

/// Default MFU of InferSim's GEMMs and decode attention on H100.
const INFERSIM_MFU: Mfu = Mfu(0.35);
/// Default MFU of InferSim's prefill attention.
const INFERSIM_PREFILL_MFU: Mfu = Mfu(0.9);

crate::names!(Method {
    Efficiency => "efficiency",
    InferSim => "infersim",
    Blis => "blis",
});

impl Method {
    /// Returns the time of a GEMM at `m` rows. The predecessors ignore the dtype of `shape`: they use the bf16 table
    /// if the set has one, or else an 8-bit one.
    ///
    /// # Errors
    /// The errors of the method's lookup.
    pub fn gemm(self, set: &TableSet, shape: GemmShape, m: u32) -> Result<Estimate, MethodError> {
        let m = m.max(1);
        refuse_zero("gemm", [shape.k, shape.n])?;
        let curve = match self {
            Method::Efficiency => return Ok(Gemm::resolve(set, shape)?.at(m)),
            Method::InferSim => infersim::gemm_curve(set, shape.k, shape.n)?,
            Method::Blis => Some(blis::gemm_curve(set, shape.k, shape.n)?),
        };
        match curve {
            Some(curve) => self.on_curve(&curve, shape.work(f64::from(m)), m),
            None => Ok(without_table(
                set.gpu(),
                &shape.work(f64::from(m)),
                INFERSIM_MFU,
            )),
        }
    }

    /// Returns the time of prefill attention of one prompt of `seq_len` tokens.
    ///
    /// # Errors
    /// The errors of the method's lookup.
    pub fn prefill(
        self,
        set: &TableSet,
        shape: AttentionShape,
        seq_len: u32,
    ) -> Result<Estimate, MethodError> {
        let seq_len = seq_len.max(1);
        refuse_zero("prefill", attention_dimensions(&shape))?;
        let curve = match self {
            Method::Efficiency => {
                return Ok(PrefillAttention::resolve(set, shape)?.at(1, seq_len));
            }
            Method::InferSim => infersim::prefill_curve(set, &shape)?,
            Method::Blis => Some(blis::prefill_curve(set, &shape)?),
        };
        let work = shape
            .on_rank()
            .prefill_work(&Prompts::equal(1.0, f64::from(seq_len)));
        match curve {
            Some(curve) => self.on_curve(&curve, work, seq_len),
            None => Ok(without_table(set.gpu(), &work, INFERSIM_PREFILL_MFU)),
        }
    }

    /// Returns the time of decode attention of `batch` requests with `kv_len` tokens each.
    ///
    /// # Errors
    /// The errors of the method's lookup.
    pub fn decode(
        self,
        set: &TableSet,
        shape: AttentionShape,
        batch: u32,
        kv_len: u32,
    ) -> Result<Estimate, MethodError> {
        let (batch, kv_len) = (batch.max(1), kv_len.max(1));
        refuse_zero("decode", attention_dimensions(&shape))?;
        let kv_tokens = u64::from(batch) * u64::from(kv_len);
        let grid = match self {
            Method::Efficiency => {
                return Ok(DecodeAttention::resolve(set, shape)?.at(batch, kv_tokens));
            }
            Method::InferSim => infersim::decode_grid(set, &shape)?,
            Method::Blis => Some(blis::decode_grid(set, &shape)?),
        };
        let work = shape
            .on_rank()
            .decode_work(f64::from(batch), kv_tokens as f64);
        match grid {
            Some(grid) => self.on_grid(&grid, work, batch, kv_len),
            None => Ok(without_table(set.gpu(), &work, INFERSIM_MFU)),
        }
    }

    /// Returns a predecessor's time of `work` at `x` on a curve.
    pub(in crate::op) fn on_curve(
        self,
        curve: &MfuCurve,
        work: Work,
        x: u32,
    ) -> Result<Estimate, MethodError> {
        let reading = match self {
            Method::InferSim => infersim::floor_mfu(curve, f64::from(x), INFERSIM_MFU)?,
            // Rooflut's own method is never passed here: it has no MFU to interpolate.
            Method::Blis | Method::Efficiency => blis::linear_mfu(curve, f64::from(x))?,
        };
        let at_peak = work.flops / curve.peak_flops_per_s();
        Ok(Estimate::at_mfu(at_peak, reading.mfu, reading.provenance))
    }

    /// Returns a predecessor's time of decode `work` on a grid.
    pub(in crate::op) fn on_grid(
        self,
        grid: &MfuGrid,
        work: Work,
        batch: u32,
        kv_len: u32,
    ) -> Result<Estimate, MethodError> {
        let (batch, kv_len) = (f64::from(batch), f64::from(kv_len));
        let reading = match self {
            Method::InferSim => infersim::nearest_mfu(grid, batch, kv_len)?,
            // Rooflut's own method is never passed here: it has no MFU to interpolate.
            Method::Blis | Method::Efficiency => blis::bilinear_mfu(grid, batch, kv_len)?,
        };
        let at_peak = work.flops / grid.peak_flops_per_s();
        Ok(Estimate::at_mfu(at_peak, reading.mfu, reading.provenance))
    }
}

fn attention_dimensions(shape: &AttentionShape) -> [u32; 4] {
    [shape.q_heads, shape.kv_heads, shape.head_dim, shape.tp]
}

fn refuse_zero<const N: usize>(
    operation: &'static str,
    dimensions: [u32; N],
) -> Result<(), ResolveError> {
    if dimensions.contains(&0) {
        return Err(ResolveError::ZeroDimension { operation });
    }
    Ok(())
}

/// Returns InferSim's answer for a shape without a table.
fn without_table(gpu: &Gpu, work: &Work, mfu: Mfu) -> Estimate {
    Estimate::at_mfu(
        work.flops / gpu.bf16_flops_per_s,
        mfu,
        Class::Bound.outside(),
    )
}

/// The error of a [`Method`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum MethodError {
    /// The set cannot answer for the kernel.
    Resolve(ResolveError),
    /// The predecessor's lookup has no answer.
    Lookup(LookupError),
}

impl fmt::Display for MethodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MethodError::Resolve(error) => error.fmt(f),
            MethodError::Lookup(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for MethodError {}

impl From<ResolveError> for MethodError {
    fn from(error: ResolveError) -> MethodError {
        MethodError::Resolve(error)
    }
}

impl From<LookupError> for MethodError {
    fn from(error: LookupError) -> MethodError {
        MethodError::Lookup(error)
    }
}
