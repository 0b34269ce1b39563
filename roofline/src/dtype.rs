//! Number formats of weights, activations and KV entries.

/// A number format of the tables.
///
/// The order follows the tables and is only used to sort keys.
///
/// ```
/// use rooflut_roofline::Dtype;
/// assert_eq!("fp8_block".parse(), Ok(Dtype::Fp8Block));
/// assert_eq!(Dtype::Fp8Block.to_string(), "fp8_block");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// 16-bit floating point (bfloat16; float16 runs at the same rates).
    Bf16,
    /// 8-bit floating point (e4m3), one scale per tensor.
    Fp8,
    /// 8-bit floating point with one f32 scale per block of 128 x 128 weights and per 128 activations.
    Fp8Block,
    /// NVIDIA's 4-bit floating point with one 8-bit scale per 16 values.
    Nvfp4,
    /// 4-bit floating point of the OCP microscaling formats with one 8-bit scale per 32 weights; 16-bit activations.
    Mxfp4,
    /// [`Mxfp4`](Self::Mxfp4) weights with 8-bit activations, one 8-bit scale per 32 values (MXFP8).
    Mxfp4Mxfp8,
    /// 4-bit integers with one 16-bit scale per 32 weights; 16-bit activations.
    Int4,
}

crate::names!(Dtype {
    Bf16 => "bf16",
    Fp8 => "fp8",
    Fp8Block => "fp8_block",
    Nvfp4 => "nvfp4",
    Mxfp4 => "mxfp4",
    Mxfp4Mxfp8 => "mxfp4_mxfp8",
    Int4 => "int4",
});

impl Dtype {
    /// Returns the bytes of one stored weight (or KV entry), scales included.
    ///
    /// ```
    /// use rooflut_roofline::Dtype;
    /// let [mxfp4, int4] = [Dtype::Mxfp4, Dtype::Int4].map(Dtype::weight_bytes);
    /// assert_eq!((mxfp4, int4), (0.53125, 0.5625));
    /// ```
    #[inline]
    pub const fn weight_bytes(self) -> f64 {
        match self {
            Dtype::Bf16 => 2.0,
            Dtype::Fp8 => 1.0,
            Dtype::Fp8Block => 1.0 + 4.0 / (128.0 * 128.0),
            Dtype::Nvfp4 => 0.5 + 1.0 / 16.0,
            Dtype::Mxfp4 | Dtype::Mxfp4Mxfp8 => 0.5 + 1.0 / 32.0,
            Dtype::Int4 => 0.5 + 2.0 / 32.0,
        }
    }

    /// Returns the bytes of one activation that enters a GEMM of this format, scales included.
    #[inline]
    pub const fn activation_bytes(self) -> f64 {
        match self {
            Dtype::Bf16 | Dtype::Mxfp4 | Dtype::Int4 => 2.0,
            Dtype::Fp8 => 1.0,
            Dtype::Fp8Block => 1.0 + 4.0 / 128.0,
            Dtype::Mxfp4Mxfp8 => 1.0 + 1.0 / 32.0,
            Dtype::Nvfp4 => 0.5 + 1.0 / 16.0,
        }
    }

    /// Returns the peak of matrix math relative to 16 bits, as on GPUs with tensor cores for the format.
    #[inline]
    pub(crate) const fn relative_peak(self) -> f64 {
        match self {
            Dtype::Bf16 | Dtype::Mxfp4 | Dtype::Int4 => 1.0,
            Dtype::Fp8 | Dtype::Fp8Block | Dtype::Mxfp4Mxfp8 => 2.0,
            Dtype::Nvfp4 => 4.0,
        }
    }

    /// Returns whether each block of weights has a scale. The rows of such formats are compiled in with the feature
    /// `alloc` of rooflut.
    pub const fn is_block_scaled(self) -> bool {
        !matches!(self, Dtype::Bf16 | Dtype::Fp8)
    }

    /// Returns the index of the format in [`ALL`](Self::ALL), which stored shapes contain.
    #[inline]
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// Returns the format with the given [`code`](Self::code), or `Bf16` for an unknown code.
    #[inline]
    pub(crate) const fn from_code(code: u32) -> Dtype {
        match code {
            1 => Dtype::Fp8,
            2 => Dtype::Fp8Block,
            3 => Dtype::Nvfp4,
            4 => Dtype::Mxfp4,
            5 => Dtype::Mxfp4Mxfp8,
            6 => Dtype::Int4,
            _ => Dtype::Bf16,
        }
    }
}
