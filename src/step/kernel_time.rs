//! The time of a kernel inside a step.

use super::{Binding, TimeSource};
use crate::hardware::{Reference, Work};
use crate::op::Estimate;
use crate::table::Provenance;
use crate::units::Seconds;

/// The time of a kernel inside a step, where its operands come from memory.
///
/// 16 bytes: a step holds and passes on one for each of its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KernelTime {
    /// How long it takes.
    pub(super) time: Seconds,
    fitted_share: f32,
    provenance: Option<Provenance>,
    /// What sets its pace.
    pub(super) binding: Binding,
}

const _: () = assert!(size_of::<Option<KernelTime>>() == 16);

impl KernelTime {
    #[inline]
    pub(super) fn new(time: Seconds, binding: Binding, source: TimeSource) -> KernelTime {
        let TimeSource {
            provenance,
            fitted_share,
        } = source;
        KernelTime {
            time,
            fitted_share,
            provenance,
            binding,
        }
    }

    /// The answer of a table, not faster than FLOPs, memory and link allow.
    #[inline]
    pub(super) fn of(estimate: Estimate, work: &Work, reference: &Reference) -> KernelTime {
        let rates = &reference.rates;
        KernelTime::new(
            Seconds(estimate.time.0.max(work.bound_s(rates))),
            Binding::of(work, rates, reference.t0_s),
            estimate.provenance.into(),
        )
    }

    /// Time from constants of the engine and from traffic.
    #[inline]
    pub(super) fn fitted(time: Seconds, binding: Binding) -> KernelTime {
        KernelTime::new(time, binding, TimeSource::FITTED)
    }

    /// Where the time comes from.
    #[inline]
    pub(super) fn source(&self) -> TimeSource {
        TimeSource {
            provenance: self.provenance,
            fitted_share: self.fitted_share,
        }
    }

    /// The same kernel `times` times.
    #[inline]
    pub(super) fn times(self, times: f64) -> KernelTime {
        KernelTime {
            time: self.time * times,
            ..self
        }
    }

    /// Both kernels one after the other, with the binding of the longer one.
    #[cold] // Parts of a step have one kernel each, but where a draft model follows.
    pub(super) fn plus(self, other: KernelTime) -> KernelTime {
        let longer = if self.time >= other.time { self } else { other };
        let source = self.source().plus(self.time, other.source(), other.time);
        KernelTime::new(self.time + other.time, longer.binding, source)
    }
}
