//! Number formats of weights, activations and KV entries.

/// A number format that the tables know.
///
/// The order is that of the tables: it only serves to sort keys.
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

impl Dtype {
    /// All formats, in order.
    pub const ALL: [Dtype; 4] = [Dtype::Bf16, Dtype::Fp8, Dtype::Fp8Block, Dtype::Nvfp4];

    /// The name used in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::Bf16 => "bf16",
            Dtype::Fp8 => "fp8",
            Dtype::Fp8Block => "fp8_block",
            Dtype::Nvfp4 => "nvfp4",
        }
    }

    /// The format of that [`name`](Self::name), or `None`.
    ///
    /// ```
    /// use rooflut_roofline::Dtype;
    /// assert_eq!(Dtype::from_name("fp8_block"), Some(Dtype::Fp8Block));
    /// assert_eq!(Dtype::from_name("int8"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bytes of one stored weight (or KV entry), scales included.
    #[inline]
    pub const fn weight_bytes(self) -> f64 {
        match self {
            Dtype::Bf16 => 2.0,
            Dtype::Fp8 => 1.0,
            Dtype::Fp8Block => 1.0 + 4.0 / (128.0 * 128.0),
            Dtype::Nvfp4 => 0.5 + 1.0 / 16.0,
        }
    }

    /// Bytes of one activation that enters a GEMM of this format, scales included.
    #[inline]
    pub const fn activation_bytes(self) -> f64 {
        match self {
            Dtype::Bf16 => 2.0,
            Dtype::Fp8 => 1.0,
            Dtype::Fp8Block => 1.0 + 4.0 / 128.0,
            Dtype::Nvfp4 => 0.5 + 1.0 / 16.0,
        }
    }

    /// A number for packed keys.
    #[inline]
    pub(crate) const fn code(self) -> u64 {
        match self {
            Dtype::Bf16 => 0,
            Dtype::Fp8 => 1,
            Dtype::Fp8Block => 2,
            Dtype::Nvfp4 => 3,
        }
    }
}

impl core::fmt::Display for Dtype {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}
