//! Reference times of measured kernels.

use crate::tuned::{L2_FADE, L2_HOT};
use crate::{Gpu, Rates, Work};

/// The inputs of an operation's reference time, except for the kernel itself.
///
/// A reference time is the time that the roofline predicts for a kernel, ramp-up included. It is not a bound: it only
/// has to follow the shape of the measurements, because tables interpolate `latency / reference`. Each kernel shape
/// has a `reference_s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reference {
    /// The GPU's rates for the kernel's dtype.
    pub rates: Rates,
    /// Time that neither FLOPs nor bytes explain, seconds; given by the table set, per operation.
    pub t0_s: f64,
    /// Time of a byte found in the L2 cache relative to one from memory, as the benchmark measured it; 1 if the
    /// caches were cold or the timing does not show it.
    pub hot_read: f64,
    /// Reciprocal of the size of the second-level cache in bytes.
    pub per_l2_byte: f64,
    /// Streaming multiprocessors.
    pub sms: f64,
    /// Time that a thread block adds, seconds: the time of a wave, divided by the number of streaming multiprocessors.
    pub block_s: f64,
}

/// Timing constants of an operation, given by the table set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Time that neither FLOPs nor bytes explain, microseconds.
    pub t0_us: f64,
    /// Time of a byte found in the L2 cache relative to one from memory; 1 if the timing does not show it.
    pub hot_read: f64,
    /// Time of a wave of thread blocks, one per streaming multiprocessor, microseconds; 0 if none is known.
    pub wave_us: f64,
    /// Whether decode attention splits the KV entries of a request over thread blocks only where several query heads
    /// share a KV head.
    ///
    /// Source: FlashAttention-2, `mha_varlen_fwd`. One request of 65,536 tokens takes 62 us on an A100 with four query
    /// heads and one KV head, and 1,526 us with one of each.
    pub grouped_split: bool,
}

impl Reference {
    /// Creates the reference of an operation on `gpu` at the `rates` of its dtype.
    pub const fn new(gpu: &Gpu, rates: Rates, timing: Timing) -> Reference {
        let sms = gpu.sms as f64;
        Reference {
            rates,
            t0_s: timing.t0_us * 1e-6,
            hot_read: timing.hot_read,
            per_l2_byte: 1.0 / gpu.l2_bytes as f64,
            sms,
            block_s: timing.wave_us * 1e-6 / sms,
        }
    }

    /// Returns the reference time of `work` in a sequence of small kernels, seconds: launch time, FLOPs at the peak and
    /// traffic, which hardly overlap.
    ///
    /// Source: smallest leave-one-out errors on the rows of layers with their projections, on b300 and h100.
    #[inline]
    pub fn in_sequence_s(&self, work: &Work) -> f64 {
        self.t0_s + work.flops * self.rates.s_per_flop + work.bytes * self.rates.s_per_byte
    }

    /// Returns the time of a byte, relative to one from memory, of `bytes` that a benchmark reads in each run: hits in
    /// the second-level cache fade out as it fills.
    #[inline]
    pub fn read_share(&self, bytes: f64) -> f64 {
        let share = bytes * self.per_l2_byte;
        let from_memory = ((share - L2_HOT) * (1.0 / L2_FADE)).clamp(0.0, 1.0);
        from_memory + (1.0 - from_memory) * self.hot_read
    }
}
