//! The resource that limits the speed of a step.

use crate::hardware::{Rates, Work};

/// The resource that limits the speed of a kernel or step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Binding {
    /// Matrix math.
    Compute,
    /// Device memory bandwidth.
    Memory,
    /// Launches, synchronisation and other time that neither FLOPs nor bytes explain.
    Latency,
    /// The link between GPUs.
    Link,
}

crate::names!(Binding {
    Compute => "compute",
    Memory => "memory",
    Latency => "latency",
    Link => "link",
});

impl Binding {
    /// Returns the resource that limits `work` with `latency_s` of launches and waiting: the resource with the longest
    /// of the four times.
    pub fn of(work: &Work, rates: &Rates, latency_s: f64) -> Binding {
        let times = [
            (Binding::Compute, work.flops * rates.s_per_flop),
            (Binding::Memory, work.bytes * rates.s_per_byte),
            (Binding::Latency, latency_s),
            (Binding::Link, work.link_bytes * rates.s_per_link_byte),
        ];
        let first = (Binding::Compute, 0.0);
        let longest = |best: (Binding, f64), next: (Binding, f64)| {
            if next.1 > best.1 { next } else { best }
        };
        times.into_iter().fold(first, longest).0
    }
}
