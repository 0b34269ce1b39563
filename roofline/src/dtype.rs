//! Number formats of weights, activations and KV entries.

/// A number format of the tables.
///
/// The order is that of the tables and is only used to sort keys.
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
}

crate::names!(Dtype {
    Bf16 => "bf16",
    Fp8 => "fp8",
    Fp8Block => "fp8_block",
    Nvfp4 => "nvfp4",
});

impl Dtype {
    /// Returns the bytes of one stored weight (or KV entry), scales included.
    #[inline]
    pub const fn weight_bytes(self) -> f64 {
        match self {
            Dtype::Bf16 => 2.0,
            Dtype::Fp8 => 1.0,
            Dtype::Fp8Block => 1.0 + 4.0 / (128.0 * 128.0),
            Dtype::Nvfp4 => 0.5 + 1.0 / 16.0,
        }
    }

    /// Returns the bytes of one activation that enters a GEMM of this format, scales included.
    #[inline]
    pub const fn activation_bytes(self) -> f64 {
        match self {
            Dtype::Bf16 => 2.0,
            Dtype::Fp8 => 1.0,
            Dtype::Fp8Block => 1.0 + 4.0 / 128.0,
            Dtype::Nvfp4 => 0.5 + 1.0 / 16.0,
        }
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
            _ => Dtype::Bf16,
        }
    }
}
