//! The time of a kernel inside a step.

use super::{Binding, TimeSource};
use crate::hardware::{Reference, Work};
use crate::op::Estimate;
use crate::units::Seconds;

/// The time of a kernel inside a step, where its operands come from memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KernelTime {
    /// How long it takes.
    pub(super) time: Seconds,
    /// What sets its pace.
    pub(super) binding: Binding,
    /// Where the time comes from.
    pub(super) source: TimeSource,
}

impl KernelTime {
    /// The answer of a table, not faster than FLOPs, memory and link allow.
    pub(super) fn of(estimate: Estimate, work: &Work, reference: &Reference) -> KernelTime {
        let rates = &reference.rates;
        KernelTime {
            time: Seconds(estimate.time.0.max(work.bound_s(rates))),
            binding: Binding::of(work, rates, reference.t0_s),
            source: estimate.provenance.into(),
        }
    }

    /// Time from constants of the engine and from traffic.
    pub(super) fn fitted(time: Seconds, binding: Binding) -> KernelTime {
        KernelTime {
            time,
            binding,
            source: TimeSource::FITTED,
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
}
