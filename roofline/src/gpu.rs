//! GPU data sheets.

use crate::{Dtype, Invalid, Subject, Text};

/// One GPU's data sheet: dense peaks, memory, caches, link.
///
/// All rates are peaks per GPU, without sparsity. The built-in data sheets come from `bench_data/gpus.toml`, which
/// gives the source of each; [`Gpu::builder`] makes others.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(all(feature = "serde", feature = "alloc"), derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(all(feature = "serde", feature = "alloc"), serde(remote = "Self", deny_unknown_fields))]
pub struct Gpu {
    /// Short name in lower case, such as `h100`.
    pub name: Text,
    /// The exact product: form factor, memory.
    pub description: Text,
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
    /// Thermal design power, watts: the most that the GPU draws over a longer time; `None` where it is not known.
    pub tdp_w: Option<f64>,
    /// NVIDIA's compute capability, such as 9.0 for Hopper: its architecture; `None` for GPUs that have none.
    pub compute_capability: Option<f64>,
}

impl Gpu {
    /// Returns a builder for the data sheet of a GPU called `name`. Every number except the [`fp8`] and [`fp4`] peaks,
    /// the [`tdp`] and the [`compute_capability`] is required.
    ///
    /// [`fp8`]: GpuBuilder::fp8_flops_per_s
    /// [`fp4`]: GpuBuilder::fp4_flops_per_s
    /// [`tdp`]: GpuBuilder::tdp_w
    /// [`compute_capability`]: GpuBuilder::compute_capability
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, Gpu};
    /// let toy = Gpu::builder("toy")
    ///     .bf16_flops_per_s(1e15)
    ///     .mem_bytes(80 << 30)
    ///     .mem_bw_bytes_per_s(3e12)
    ///     .l2_bytes(50_000_000)
    ///     .sms(100)
    ///     .link_bytes_per_s(450e9);
    /// assert_eq!(toy.clone().build()?.peak_flops_per_s(Dtype::Fp8), None);
    ///
    /// let error = toy.mem_bw_bytes_per_s(-1.0).build().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "GPU: mem_bw_bytes_per_s: expected a positive number, found -1; correct it"
    /// );
    /// # Ok::<(), rooflut_roofline::Invalid>(())
    /// ```
    pub fn builder(name: impl Into<Text>) -> GpuBuilder {
        GpuBuilder {
            gpu: Gpu {
                name: name.into(),
                description: Text::from_static(""),
                bf16_flops_per_s: 0.0,
                fp8_flops_per_s: None,
                fp4_flops_per_s: None,
                mem_bytes: 0,
                mem_bw_bytes_per_s: 0.0,
                l2_bytes: 0,
                sms: 0,
                link_bytes_per_s: 0.0,
                tdp_w: None,
                compute_capability: None,
            },
        }
    }

    /// Returns a data sheet that the code generator has checked.
    #[doc(hidden)]
    pub const fn from_generated(
        [name, description]: [&'static str; 2],
        (bf16_flops_per_s, fp8_flops_per_s, fp4_flops_per_s): (f64, Option<f64>, Option<f64>),
        [mem_bw_bytes_per_s, link_bytes_per_s]: [f64; 2],
        [mem_bytes, l2_bytes]: [u64; 2],
        sms: u32,
        [tdp_w, compute_capability]: [Option<f64>; 2],
    ) -> Gpu {
        Gpu {
            name: Text::from_static(name),
            description: Text::from_static(description),
            bf16_flops_per_s,
            fp8_flops_per_s,
            fp4_flops_per_s,
            mem_bytes,
            mem_bw_bytes_per_s,
            l2_bytes,
            sms,
            link_bytes_per_s,
            tdp_w,
            compute_capability,
        }
    }

    /// Returns the peak of matrix math on `dtype` in FLOP/s, or `None` if this GPU does not support it.
    ///
    /// Weights of `mxfp4` and `int4` are converted to 16 bits: their peak is the peak of `bf16`. `mxfp4_mxfp8` has the
    /// peak of `fp8`, on GPUs with 4-bit math.
    pub const fn peak_flops_per_s(&self, dtype: Dtype) -> Option<f64> {
        match dtype {
            Dtype::Bf16 | Dtype::Mxfp4 | Dtype::Int4 => Some(self.bf16_flops_per_s),
            Dtype::Fp8 | Dtype::Fp8Block => self.fp8_flops_per_s,
            Dtype::Nvfp4 => self.fp4_flops_per_s,
            // Tensor cores scale blocks of 32 values from the generation on that has 4-bit math.
            Dtype::Mxfp4Mxfp8 => match self.fp4_flops_per_s {
                Some(_) => self.fp8_flops_per_s,
                None => None,
            },
        }
    }

    /// Returns whether both GPUs have one architecture: compute capabilities less than half apart, as 9.0 and 9.0 of
    /// H100 and H200, and 10.0 and 10.3 of B200 and B300.
    pub fn is_alike(&self, other: &Gpu) -> bool {
        let both = self.compute_capability.zip(other.compute_capability);
        both.is_some_and(|(one, other)| (one - other).abs() < 0.5)
    }

    /// Returns the rates of kernels of `dtype`, or `None` if this GPU cannot run them.
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

#[cfg(all(feature = "serde", feature = "alloc"))]
impl serde::Serialize for Gpu {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Gpu::serialize(self, serializer)
    }
}

#[cfg(all(feature = "serde", feature = "alloc"))]
impl<'de> serde::Deserialize<'de> for Gpu {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Gpu, D::Error> {
        let gpu = Gpu::deserialize(deserializer)?;
        GpuBuilder { gpu }.build().map_err(serde::de::Error::custom)
    }
}

/// Rates of a GPU for one dtype, stored as reciprocals, so a bound is a multiplication.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Seconds per floating-point operation at the peak.
    pub s_per_flop: f64,
    /// Seconds per byte of device memory.
    pub s_per_byte: f64,
    /// Seconds per byte over the link.
    pub s_per_link_byte: f64,
}

/// A builder for [`Gpu`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct GpuBuilder {
    gpu: Gpu,
}

impl GpuBuilder {
    /// Sets the exact product: form factor, memory. Empty by default.
    pub fn description(mut self, description: impl Into<Text>) -> Self {
        self.gpu.description = description.into();
        self
    }

    crate::setters! {
        /// Sets the peak of 16-bit matrix math, FLOP/s.
        bf16_flops_per_s(peak: f64) => gpu.bf16_flops_per_s;
        /// Sets the device memory, bytes.
        mem_bytes(bytes: u64) => gpu.mem_bytes;
        /// Sets the memory bandwidth, bytes/s.
        mem_bw_bytes_per_s(rate: f64) => gpu.mem_bw_bytes_per_s;
        /// Sets the size of the second-level cache, bytes.
        l2_bytes(bytes: u64) => gpu.l2_bytes;
        /// Sets the number of streaming multiprocessors.
        sms(count: u32) => gpu.sms;
        /// Sets the bandwidth of the link to the other GPUs of the node, bytes/s in one direction.
        link_bytes_per_s(rate: f64) => gpu.link_bytes_per_s;
    }

    /// Sets the peak of 8-bit floating-point matrix math, FLOP/s. `None` by default.
    pub fn fp8_flops_per_s(mut self, peak: impl Into<Option<f64>>) -> Self {
        self.gpu.fp8_flops_per_s = peak.into();
        self
    }

    /// Sets the peak of 4-bit floating-point matrix math, FLOP/s. `None` by default.
    pub fn fp4_flops_per_s(mut self, peak: impl Into<Option<f64>>) -> Self {
        self.gpu.fp4_flops_per_s = peak.into();
        self
    }

    /// Sets the thermal design power, watts. `None` by default.
    pub fn tdp_w(mut self, watts: impl Into<Option<f64>>) -> Self {
        self.gpu.tdp_w = watts.into();
        self
    }

    /// Sets NVIDIA's compute capability, such as 9.0. `None` by default.
    pub fn compute_capability(mut self, version: impl Into<Option<f64>>) -> Self {
        self.gpu.compute_capability = version.into();
        self
    }

    /// Returns the data sheet.
    ///
    /// # Errors
    /// A number is missing, or is not positive and finite.
    pub fn build(self) -> Result<Gpu, Invalid> {
        let gpu = &self.gpu;
        let numbers = [
            ("bf16_flops_per_s", Some(gpu.bf16_flops_per_s)),
            ("fp8_flops_per_s", gpu.fp8_flops_per_s),
            ("fp4_flops_per_s", gpu.fp4_flops_per_s),
            ("mem_bytes", Some(gpu.mem_bytes as f64)),
            ("mem_bw_bytes_per_s", Some(gpu.mem_bw_bytes_per_s)),
            ("l2_bytes", Some(gpu.l2_bytes as f64)),
            ("sms", Some(f64::from(gpu.sms))),
            ("link_bytes_per_s", Some(gpu.link_bytes_per_s)),
            ("tdp_w", gpu.tdp_w),
            ("compute_capability", gpu.compute_capability),
        ];
        for (field, number) in numbers {
            if let Some(found) = number.filter(|n| !(*n > 0.0 && n.is_finite())) {
                let text = "expected a positive number, found {}; correct it";
                return Err(Invalid::new(field, text, &[found.into()]).of(Subject::Gpu));
            }
        }
        Ok(self.gpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toy() -> GpuBuilder {
        Gpu::builder("toy")
            .bf16_flops_per_s(1e15)
            .mem_bytes(1)
            .mem_bw_bytes_per_s(3e12)
            .l2_bytes(1)
            .sms(1)
            .link_bytes_per_s(1e11)
    }

    #[test]
    fn each_number_must_be_positive_and_finite() {
        assert!(toy().build().is_ok());
        let refused = [
            (Gpu::builder("toy"), "bf16_flops_per_s"),
            (toy().bf16_flops_per_s(f64::NAN), "bf16_flops_per_s"),
            (toy().fp8_flops_per_s(0.0), "fp8_flops_per_s"),
            (toy().fp4_flops_per_s(-1.0), "fp4_flops_per_s"),
            (toy().mem_bytes(0), "mem_bytes"),
            (toy().mem_bw_bytes_per_s(f64::INFINITY), "mem_bw_bytes_per_s"),
            (toy().l2_bytes(0), "l2_bytes"),
            (toy().sms(0), "sms"),
            (toy().link_bytes_per_s(0.0), "link_bytes_per_s"),
            (toy().tdp_w(-700.0), "tdp_w"),
            (toy().compute_capability(0.0), "compute_capability"),
        ];
        for (gpu, field) in refused {
            assert_eq!(gpu.build().map_err(|error| error.setting()), Err(field));
        }
    }
}
