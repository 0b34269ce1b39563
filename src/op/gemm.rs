//! Dense matrix multiplication.

use rooflut_roofline::GemmPace;

use super::Estimate;
use super::blend::{Blend, CurveAnswer, Neighbour};
use crate::error::ResolveError;
use crate::hardware::{Dtype, GemmShape, OperationKind, Reference, Work};
use crate::math::{exp_short, ln_of_normal};
use crate::table::{Class, Curve, ErrorGroup, KernelTable, Table, TableSet};

/// A resolved GEMM. Each query costs a binary search.
///
/// ```
/// use rooflut::hardware::{Dtype, GemmShape};
/// use rooflut::op::Gemm;
/// use rooflut::table::{Class, sets};
///
/// let gemm = Gemm::resolve(&sets::H100, GemmShape { dtype: Dtype::Bf16, k: 4096, n: 4096 })?;
/// assert_eq!(gemm.at(64).provenance, Class::Measured.inside());
/// assert_eq!(gemm.at(100).provenance, Class::Interpolated.inside());
/// // The fused QKV projection of an 8B model was not measured; its k was, and its n lies between two measured ones.
/// let qkv = Gemm::resolve(&sets::H100, GemmShape { dtype: Dtype::Bf16, k: 4096, n: 6144 })?;
/// assert_eq!(qkv.at(64).provenance, Class::Interpolated.inside());
/// # Ok::<(), rooflut::ResolveError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gemm {
    shape: GemmShape,
    reference: Reference,
    pace: GemmPace,
    errors: ErrorGroup,
    points: CurveAnswer<GemmShape>,
}

impl TableSet {
    /// Returns the GEMMs by (dtype, k, n) over m, or `None` if the set has none.
    pub fn gemm(&self) -> Option<KernelTable<'_, GemmShape, Curve<'_>>> {
        self.table(OperationKind::Gemm).map(Table::typed)
    }
}

impl Gemm {
    /// Looks up the weights in `set`: one perfect-hash lookup if (k, n) was measured.
    ///
    /// Otherwise the efficiency is computed here, once, from measured neighbours: bilinear in the logarithms inside a
    /// full rectangle of measured pairs (`Interpolated`), the nearest pair of the rectangle outside it, and the
    /// inverse-squared-distance mean of the four nearest pairs if they form no rectangle (both `Transferred`). Only m
    /// is an axis: the extent of an answer does not depend on k and n.
    ///
    /// # Errors
    /// The set has no GEMM table or none of this dtype, the GPU has no peak for it, or k or n is zero.
    pub fn resolve(set: &TableSet, shape: GemmShape) -> Result<Gemm, ResolveError> {
        let table = set.required(OperationKind::Gemm)?.typed::<GemmShape, Curve<'_>>();
        let reference = set.reference(&table, shape.dtype)?;
        let [measured, other] = table.error_groups(shape.dtype);
        let resolved = |points| Gemm {
            errors: match points {
                CurveAnswer::Measured(..) => measured,
                CurveAnswer::Blended(_) => other,
            },
            shape,
            reference,
            pace: shape.pace(&reference),
            points,
        };
        // Returned early, because a blend is 40 times as large.
        if let Some(entry) = table.find(&shape) {
            return Ok(resolved(CurveAnswer::of(table, &entry)));
        }
        if shape.k == 0 || shape.n == 0 {
            return Err(ResolveError::ZeroDimension { operation: "gemm" });
        }
        let blend =
            Blend::of_gemms(table, shape).ok_or_else(|| ResolveError::NoGemmDtype { set: set.clone(), shape })?;
        Ok(resolved(CurveAnswer::Blended(blend.at_best(table.class()))))
    }

    /// Returns the time at `m` rows (tokens); 0 is treated as 1.
    ///
    /// Between measured rows the efficiency against the roofline is interpolated in logarithms; below and above them
    /// it is held. Times of per-tensor fp8 step after every 256 rows, the tile of its kernels.
    pub fn at(&self, m: u32) -> Estimate {
        let m = f64::from(m.max(1));
        self.at_ln(m, ln_of_normal(m))
    }

    /// Returns [`at`](Self::at) for a caller that has the logarithm of `m`.
    pub(crate) fn at_ln(&self, m: f64, ln_m: f64) -> Estimate {
        let reading = self.points.read(m, ln_m);
        let seconds = self.pace.reference_s(m) * exp_short(reading.ln_slowdown);
        Estimate::new(&reading, seconds, self.pace.at_peak_s(m))
    }

    /// Replaces the slowdowns (as logarithms) of the first measured rows by summaries of several points (`Smoothed`).
    pub(crate) fn with_summaries(self, ln_slowdown: &[f32]) -> Gemm {
        let blend = match self.points {
            CurveAnswer::Measured(shape, held) => Blend::of_curve(&held.curve(), shape),
            CurveAnswer::Blended(blend) => blend,
        };
        Gemm { points: CurveAnswer::Blended(blend.with_summaries(ln_slowdown)), ..self }
    }

    /// Returns the curve that answers: a measured one, or a blended one without latencies.
    pub(crate) fn curve(&self) -> Curve<'_> {
        self.points.curve()
    }

    /// Returns whether the library chooses the kernel by m, so that its slowdown has steps: 8-bit and 4-bit formats.
    pub(crate) fn has_tile_steps(&self) -> bool {
        matches!(self.shape.dtype, Dtype::Fp8 | Dtype::Nvfp4)
    }

    /// Returns the requested weights.
    pub(crate) fn shape(&self) -> GemmShape {
        self.shape
    }

    /// Returns the work at `m` rows.
    pub(crate) fn work(&self, m: f64) -> Work {
        self.shape.work(m)
    }

    /// Returns the reference of the kernel.
    pub(crate) fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Returns the matched measured (k, n) with their shares.
    pub fn matched(&self) -> impl Iterator<Item = Neighbour<GemmShape>> + '_ {
        self.points.matched()
    }

    /// Returns the errors of lookups like this one; see [`Estimate::interval`].
    pub fn errors(&self) -> ErrorGroup {
        self.errors
    }

    /// Returns the best class that an answer can have.
    pub fn class(&self) -> Class {
        self.points.class()
    }
}
