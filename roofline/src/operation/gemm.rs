//! Dense matrix multiplication: m x k activations times k x n weights.

use super::{Codes, Column, Operation, debug};
use crate::{Dtype, Reference, Work};

/// Dense matrix multiplication: `dtype, k, n` over m.
pub const GEMM: Operation = Operation {
    name: "gemm",
    file: "gemm.csv",
    description: "dense matrix multiplication",
    feature: None,
    shape: &[
        Column::dtype("dtype"),
        Column::count("k"),
        Column::count("n"),
    ],
    axes: &["m"],
    optional: &["mfu"],
    check: |_| Ok(()),
    dtype: |codes| GemmShape::from(*codes).dtype,
    work: |codes, [m, _]| GemmShape::from(*codes).work(f64::from(m)),
    reference_s: |codes, [m, _], reference| {
        GemmShape::from(*codes).reference_s(f64::from(m), reference)
    },
    debug: debug::<GemmShape>,
};

/// Bytes of one output element: kernels of every input dtype write 16 bits.
const OUTPUT_BYTES: f64 = 2.0;

/// The static part of a GEMM: its weights. The rows `m` (tokens) vary from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct GemmShape {
    /// Format of weights and activations; the output is 16-bit.
    pub dtype: Dtype,
    /// Inner dimension (input features).
    pub k: u32,
    /// Output features.
    pub n: u32,
}

impl GemmShape {
    /// FLOPs (2 m k n) and compulsory bytes (both operands and the output) at `m` rows.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, GemmShape};
    /// let work = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 6144 }.work(8.0);
    /// assert_eq!(work.flops, 2.0 * 8.0 * 4096.0 * 6144.0);
    /// assert_eq!(work.bytes, 2.0 * (8.0 * 4096.0 + 4096.0 * 6144.0 + 8.0 * 6144.0));
    /// ```
    #[inline]
    pub fn work(&self, m: f64) -> Work {
        let (k, n) = (f64::from(self.k), f64::from(self.n));
        Work {
            flops: 2.0 * m * k * n,
            bytes: m * k * self.dtype.activation_bytes()
                + self.weight_bytes()
                + m * n * OUTPUT_BYTES,
            link_bytes: 0.0,
        }
    }

    /// Reference time at `m` rows: launch time plus the bound.
    #[inline]
    pub fn reference_s(&self, m: f64, reference: &Reference) -> f64 {
        reference.t0_s + self.work(m).bound_s(&reference.rates)
    }

    /// Bytes of the weights.
    #[inline]
    pub fn weight_bytes(&self) -> f64 {
        f64::from(self.k) * f64::from(self.n) * self.dtype.weight_bytes()
    }
}

impl From<Codes> for GemmShape {
    #[inline]
    fn from([dtype, k, n, ..]: Codes) -> GemmShape {
        GemmShape {
            dtype: Dtype::from_code(dtype),
            k,
            n,
        }
    }
}

impl From<GemmShape> for Codes {
    #[inline]
    fn from(shape: GemmShape) -> Codes {
        [shape.dtype.code(), shape.k, shape.n, 0, 0, 0, 0, 0]
    }
}
