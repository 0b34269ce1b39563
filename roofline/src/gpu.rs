//! What a GPU can do: the data sheet.

use crate::Dtype;

/// One GPU's data sheet: dense peaks, memory, caches, link.
///
/// All rates are peaks per GPU, without sparsity. The built-in ones come from
/// `bench_data/gpus.toml`, where each has its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpu {
    /// Short name in lower case, `h100`.
    pub name: &'static str,
    /// What is meant exactly: form factor, memory.
    pub description: &'static str,
    /// Peak of 16-bit matrix math, FLOP/s.
    pub bf16_flops_per_s: f64,
    /// Peak of 8-bit floating-point matrix math, FLOP/s; `None` where the GPU has none.
    pub fp8_flops_per_s: Option<f64>,
    /// Peak of 4-bit floating-point matrix math, FLOP/s; `None` where the GPU has none.
    pub fp4_flops_per_s: Option<f64>,
    /// Device memory, bytes.
    pub mem_bytes: u64,
    /// Memory bandwidth, bytes/s.
    pub mem_bw_bytes_per_s: f64,
    /// Second-level cache, bytes.
    pub l2_bytes: u64,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Link to the other GPUs of the node, bytes/s in one direction.
    pub link_bytes_per_s: f64,
}

impl Gpu {
    /// Peak FLOP/s of matrix math on `dtype`, or `None` if this GPU cannot.
    pub const fn peak_flops_per_s(&self, dtype: Dtype) -> Option<f64> {
        match dtype {
            Dtype::Bf16 => Some(self.bf16_flops_per_s),
            Dtype::Fp8 | Dtype::Fp8Block => self.fp8_flops_per_s,
            Dtype::Nvfp4 => self.fp4_flops_per_s,
        }
    }

    /// The rates for a kernel of `dtype`, or `None` if this GPU cannot run it.
    pub const fn rates(&self, dtype: Dtype) -> Option<Rates> {
        match self.peak_flops_per_s(dtype) {
            None => None,
            Some(peak) => Some(Rates {
                s_per_flop: 1.0 / peak,
                s_per_byte: 1.0 / self.mem_bw_bytes_per_s,
                s_per_link_byte: 1.0 / self.link_bytes_per_s,
            }),
        }
    }
}

/// A GPU's rates for one dtype, as reciprocals: a bound is then a multiplication.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Seconds per floating-point operation at the peak.
    pub s_per_flop: f64,
    /// Seconds per byte of device memory.
    pub s_per_byte: f64,
    /// Seconds per byte over the link.
    pub s_per_link_byte: f64,
}
