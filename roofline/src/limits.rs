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
    /// Returns the first limit that `work` in `latency_s` would exceed. A `dtype` without a peak has no limit on FLOPs.
    /// The memory bandwidth limits the traffic less the L2 cache, because the cache may hold that much beforehand.
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
        let memory_bytes = (work.bytes - self.l2_bytes as f64).max(0.0);
        let peak = self.peak_flops_per_s(dtype).unwrap_or(f64::INFINITY);
        let claims = [
            (Limit::Peak, work.flops, peak),
            (Limit::Bandwidth, memory_bytes, self.mem_bw_bytes_per_s),
            (Limit::Link, work.link_bytes, self.link_bytes_per_s),
        ];
        claims.into_iter().find_map(|(limit, amount, possible)| {
            let found = amount / latency_s;
            let excess = Excess { limit, found, possible };
            (found > possible * (1.0 + ROUNDING)).then_some(excess)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Gpu =
        Gpu::from_generated(["made-up", ""], (1e15, None, None), [3e12, 1e11], [1, 50_000_000], 1, [None; 2]);

    #[test]
    fn each_limit_is_found_and_a_cache_is_faster_than_the_memory() {
        let found = |flops, bytes, link_bytes, dtype| {
            let work = Work { flops, bytes, link_bytes };
            GPU.exceeded(dtype, &work, 1e-3).map(|excess| excess.limit)
        };
        assert_eq!(found(1e12, 3e9, 1e8, Dtype::Bf16), None);
        assert_eq!(found(1.01e12, 3.1e9, 0.0, Dtype::Bf16), Some(Limit::Peak));
        assert_eq!(found(0.0, 3.1e9, 2e8, Dtype::Bf16), Some(Limit::Bandwidth));
        assert_eq!(found(0.0, 0.0, 1.1e8, Dtype::Bf16), Some(Limit::Link));
        assert_eq!(found(1e15, 0.0, 0.0, Dtype::Fp8), None);
    }

    #[test]
    fn what_the_l2_cache_may_hold_needs_no_bandwidth() {
        let found = |bytes, latency_s| {
            let work = Work { flops: 0.0, bytes, link_bytes: 0.0 };
            let excess = GPU.exceeded(Dtype::Bf16, &work, latency_s);
            excess.map(|excess| excess.found)
        };
        assert_eq!(found(50e6, 1e-6), None);
        // 270 MB in 75 us are 3.6 TB/s, the 220 MB from memory 2.9 TB/s.
        assert_eq!(found(270e6, 75e-6), None);
        let above = found(270e6, 70e-6).unwrap();
        assert!((above / (220e6 / 70e-6) - 1.0).abs() < 1e-12);
    }
}
