//! Dense matrix multiplication: m x k activations times k x n weights.

use core::hint::select_unpredictable;

use super::{Column, Operation, codes, debug};
use crate::math::larger;
use crate::tuned::TILE_ROWS;
use crate::{Dtype, Reference, Work};

/// Dense matrix multiplication: `dtype, k, n` over m.
pub const GEMM: Operation = Operation {
    name: "gemm",
    file: "gemm.csv",
    description: "dense matrix multiplication",
    shape: &[
        Column::dtype("dtype", "Format of the math"),
        Column::count("k", "Width of the input"),
        Column::count("n", "Width of the output"),
    ],
    axes: &["m"],
    optional: &["mfu"],
    check: |_| Ok(()),
    dtype: |codes| GemmShape::from(*codes).dtype,
    work: |codes, [m, _]| GemmShape::from(*codes).work(f64::from(m)),
    reference_s: |codes, [m, _], reference| GemmShape::from(*codes).reference_s(f64::from(m), reference),
    debug: debug::<GemmShape>,
};

/// Bytes of one output element: kernels of all input dtypes write 16 bits.
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
    /// Returns FLOPs (2 m k n) and compulsory bytes (both operands and the output) at `m` rows.
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
            bytes: m * k * self.dtype.activation_bytes() + self.weight_bytes() + m * n * OUTPUT_BYTES,
            link_bytes: 0.0,
        }
    }

    /// Returns the reference time at `m` rows, seconds: see [`GemmPace::reference_s`].
    #[inline]
    pub fn reference_s(&self, m: f64, reference: &Reference) -> f64 {
        self.pace(reference).reference_s(m)
    }

    /// Returns [`reference_s`](Self::reference_s) as a function of the rows.
    pub fn pace(&self, reference: &Reference) -> GemmPace {
        let (none, one) = (self.work(0.0), self.work(1.0));
        let rates = &reference.rates;
        GemmPace {
            t0_s: reference.t0_s,
            has_tiles: self.dtype == Dtype::Fp8,
            math_s_per_row: one.flops * rates.s_per_flop,
            weights_s: none.bytes * rates.s_per_byte,
            traffic_s_per_row: (one.bytes - none.bytes) * rates.s_per_byte,
        }
    }

    /// Returns the bytes of the weights.
    #[inline]
    pub fn weight_bytes(&self) -> f64 {
        f64::from(self.k) * f64::from(self.n) * self.dtype.weight_bytes()
    }
}

/// Times of a GEMM on a GPU as functions of its rows.
///
/// ```
/// use rooflut_roofline::{Dtype, GemmShape, Rates, Reference};
/// let rates = Rates { s_per_flop: 1e-15, s_per_byte: 3e-13, s_per_link_byte: 0.0 };
/// let reference = Reference { rates, t0_s: 2e-6, hot_read: 1.0, per_l2_byte: 0.0, sms: 132.0, block_s: 0.0 };
/// let shape = GemmShape { dtype: Dtype::Bf16, k: 4096, n: 6144 };
/// let pace = shape.pace(&reference);
/// assert!(pace.reference_s(100.0) > pace.at_peak_s(100.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GemmPace {
    t0_s: f64,
    /// Whether the kernel computes whole tiles of rows.
    has_tiles: bool,
    math_s_per_row: f64,
    weights_s: f64,
    traffic_s_per_row: f64,
}

impl GemmPace {
    /// Returns the time of the FLOPs of `m` rows at the peak, seconds.
    #[inline]
    pub fn at_peak_s(&self, m: f64) -> f64 {
        m * self.math_s_per_row
    }

    /// Returns the reference time at `m` rows, seconds: launch time plus the larger of math and traffic. Kernels of
    /// per-tensor fp8 compute whole tiles of 256 rows above the first.
    #[inline]
    pub fn reference_s(&self, m: f64) -> f64 {
        let traffic_s = self.weights_s + m * self.traffic_s_per_row;
        let tiles = (m as u32).div_ceil(TILE_ROWS as u32);
        let in_tiles = self.has_tiles & (tiles > 1);
        let rows = select_unpredictable(in_tiles, f64::from(tiles) * TILE_ROWS, m);
        self.t0_s + larger(self.at_peak_s(rows), traffic_s)
    }
}

codes!(GemmShape [dtype] [k n]);
