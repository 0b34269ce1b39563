//! Plausibility of measurements: no kernel exceeds the limits of the GPU.

use crate::{Dtype, Gpu, Work};

/// Rounding error of f64: a row may lie exactly on a limit.
const ROUNDING: f64 = 1e-12;

/// A limit of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// FLOP/s of the dtype.
    Peak,
    /// Bytes per second of device memory.
    Bandwidth,
    /// Bytes per second over the link, of each rank.
    Link,
}

/// A rate above a limit, both per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    /// The limit that is exceeded.
    pub limit: Limit,
    /// The rate of the measurement.
    pub found: f64,
    /// The highest rate that the GPU allows.
    pub possible: f64,
}

impl Gpu {
    /// Returns the first limit that `work` in `latency_s` would exceed. A `dtype` without a peak has no limit on
    /// FLOPs, and traffic that fits into the L2 cache is not limited by the memory bandwidth.
    ///
    /// ```
    /// # use rooflut_roofline::{Dtype, Gpu, Limit, Work};
    /// # let gpu = Gpu::builder("made-up").bf16_flops_per_s(1e15).mem_bytes(1).mem_bw_bytes_per_s(3e12)
    /// #     .l2_bytes(50_000_000).sms(1).link_bytes_per_s(1e11).build().unwrap();
    /// let work = Work { flops: 1e12, bytes: 3e9, link_bytes: 0.0 };
    /// assert_eq!(gpu.exceeded(Dtype::Bf16, &work, 1e-3), None);
    /// let excess = gpu.exceeded(Dtype::Bf16, &work, 0.9e-3).unwrap();
    /// assert_eq!((excess.limit, excess.possible), (Limit::Peak, 1e15));
    /// ```
    pub fn exceeded(&self, dtype: Dtype, work: &Work, latency_s: f64) -> Option<Excess> {
        let cached = work.bytes <= self.l2_bytes as f64;
        let memory_bytes = if cached { 0.0 } else { work.bytes };
        let peak = self.peak_flops_per_s(dtype).unwrap_or(f64::INFINITY);
        let claims = [
            (Limit::Peak, work.flops, peak),
            (Limit::Bandwidth, memory_bytes, self.mem_bw_bytes_per_s),
            (Limit::Link, work.link_bytes, self.link_bytes_per_s),
        ];
        claims.into_iter().find_map(|(limit, amount, possible)| {
            let found = amount / latency_s;
            let excess = Excess {
                limit,
                found,
                possible,
            };
            (found > possible * (1.0 + ROUNDING)).then_some(excess)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Gpu = Gpu::from_generated(
        ["made-up", ""],
        (1e15, None, None),
        [3e12, 1e11],
        [1, 50_000_000],
        1,
    );

    #[test]
    fn each_limit_is_found_and_a_cache_is_faster_than_the_memory() {
        let found = |flops, bytes, link_bytes, dtype| {
            let work = Work {
                flops,
                bytes,
                link_bytes,
            };
            GPU.exceeded(dtype, &work, 1e-3).map(|excess| excess.limit)
        };
        assert_eq!(found(1e12, 3e9, 1e8, Dtype::Bf16), None);
        assert_eq!(found(1.01e12, 3.1e9, 0.0, Dtype::Bf16), Some(Limit::Peak));
        assert_eq!(found(0.0, 3.1e9, 2e8, Dtype::Bf16), Some(Limit::Bandwidth));
        assert_eq!(found(0.0, 0.0, 1.1e8, Dtype::Bf16), Some(Limit::Link));
        assert_eq!(found(1e15, 0.0, 0.0, Dtype::Fp8), None);
        let quick = Work {
            flops: 0.0,
            bytes: 50e6,
            link_bytes: 0.0,
        };
        assert_eq!(GPU.exceeded(Dtype::Bf16, &quick, 1e-6), None);
    }
}
