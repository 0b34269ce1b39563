//! The time of a kernel inside a step.

use super::{Binding, TimeSource};
use crate::hardware::{Reference, Work};
use crate::op::Estimate;
use crate::table::Provenance;
use crate::units::Seconds;

/// The time of a kernel inside a step, where its operands come from memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KernelTime {
    /// Duration.
    pub(super) time: Seconds,
    /// The time that physics demands: FLOPs at the peak, bytes at the bandwidth of memory or link; 0 if not known.
    pub(super) bound: Seconds,
    fitted_share: f32,
    provenance: Option<Provenance>,
    /// The resource that limits its speed.
    pub(super) binding: Binding,
}

/// The time of a part of a step.
///
/// 16 bytes, because a step holds one for each part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PartSum {
    pub(super) time: Seconds,
    fitted_share: f32,
    provenance: Option<Provenance>,
    pub(super) binding: Binding,
}

const _: () = assert!(size_of::<Option<PartSum>>() == 16);

impl KernelTime {
    #[inline]
    pub(super) fn new(time: Seconds, binding: Binding, source: TimeSource) -> KernelTime {
        let TimeSource { provenance, fitted_share } = source;
        KernelTime { time, bound: Seconds::ZERO, fitted_share, provenance, binding }
    }

    /// Creates the time from a table's answer, at least the time that FLOPs, memory and link need.
    #[inline]
    pub(super) fn of(estimate: Estimate, work: &Work, reference: &Reference) -> KernelTime {
        let rates = &reference.rates;
        let bound = Seconds(work.bound_s(rates));
        KernelTime::new(
            Seconds(estimate.time.0.max(bound.0)),
            Binding::of(work, rates, reference.t0_s),
            estimate.provenance.into(),
        )
        .with_bound(bound)
    }

    /// Creates a time from constants of the engine and from traffic.
    #[inline]
    pub(super) fn fitted(time: Seconds, binding: Binding) -> KernelTime {
        KernelTime::new(time, binding, TimeSource::FITTED)
    }

    /// Returns the time with a bound, which is at most the time.
    #[inline]
    pub(super) fn with_bound(self, bound: Seconds) -> KernelTime {
        KernelTime { bound, ..self }
    }

    /// Returns the source of the time.
    #[inline]
    pub(super) fn source(&self) -> TimeSource {
        TimeSource { provenance: self.provenance, fitted_share: self.fitted_share }
    }

    /// Returns the time of both one after the other, with the binding of the longer one.
    #[cfg(feature = "alloc")]
    pub(super) fn plus(self, other: KernelTime) -> KernelTime {
        let longer = if self.time >= other.time { self } else { other };
        let source = self.source().plus(self.time, other.source(), other.time);
        KernelTime::new(self.time + other.time, longer.binding, source).with_bound(self.bound + other.bound)
    }

    /// Returns the kernel with at least the time of `estimate`, and the worse provenance of both.
    #[cfg(feature = "alloc")]
    pub(super) fn at_least(self, estimate: Estimate) -> KernelTime {
        let worst = |own: Provenance| own.worst(estimate.provenance);
        KernelTime { time: self.time.max(estimate.time), provenance: self.provenance.map(worst), ..self }
    }

    /// Returns the time with `more` of it, from constants of the engine.
    #[inline]
    pub(super) fn plus_fitted(self, more: Seconds) -> KernelTime {
        let source = self.source().plus(self.time, TimeSource::FITTED, more);
        KernelTime::new(self.time + more, self.binding, source).with_bound(self.bound)
    }

    /// Returns what the kernel adds to others that run beside it for `free`, and takes its own time from that. It competes
    /// with them for math and memory, so that what it adds is at least its bound.
    #[inline]
    pub(super) fn beside(self, free: &mut Seconds) -> KernelTime {
        let hidden = self.time.0.min(free.0);
        free.0 -= hidden;
        KernelTime { time: Seconds(self.time.0 - hidden).max(self.bound), ..self }
    }

    /// Returns the time of `times` such kernels.
    #[inline]
    pub(super) fn times(self, times: f64) -> KernelTime {
        KernelTime { time: self.time * times, bound: self.bound * times, ..self }
    }
}

impl PartSum {
    /// Returns the source of the time.
    #[inline]
    pub(super) fn source(&self) -> TimeSource {
        TimeSource { provenance: self.provenance, fitted_share: self.fitted_share }
    }

    /// Returns the time of both one after the other, with the binding of the longer one.
    #[cold] // Parts of a step have one kernel each, except with a draft model.
    pub(super) fn plus(self, other: PartSum) -> PartSum {
        let longer = if self.time >= other.time { self } else { other };
        let source = self.source().plus(self.time, other.source(), other.time);
        KernelTime::new(self.time + other.time, longer.binding, source).into()
    }
}

impl From<KernelTime> for PartSum {
    #[inline]
    fn from(kernel: KernelTime) -> PartSum {
        PartSum {
            time: kernel.time,
            fitted_share: kernel.fitted_share,
            provenance: kernel.provenance,
            binding: kernel.binding,
        }
    }
}
