//! Dense matrix multiplication: m x k activations times k x n weights.

use crate::{Dtype, Work};

/// Bytes of one output element: kernels of every input dtype write 16 bits.
const OUTPUT_BYTES: f64 = 2.0;

/// The static part of a GEMM: its weights. The rows `m` (tokens) vary from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    /// Bytes of the weights.
    pub fn weight_bytes(&self) -> f64 {
        f64::from(self.k) * f64::from(self.n) * self.dtype.weight_bytes()
    }

    /// The shape as one integer, for perfect hashing; `None` where k or n exceed 28 bits (no table
    /// holds such a shape: the code generator refuses it).
    pub fn packed(&self) -> Option<u64> {
        let (k, n) = (u64::from(self.k), u64::from(self.n));
        (k >> 28 == 0 && n >> 28 == 0).then_some(k << 36 | n << 8 | self.dtype.code())
    }
}
