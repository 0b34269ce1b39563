//! What an operation answers.

use core::fmt;

use crate::hardware::{Rates, Reference, Work};
use crate::math::larger;
use crate::table::{Class, Provenance, Reading};
use crate::units::{Mfu, Seconds};

/// The time of a kernel as the tables know it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// How long it takes.
    pub time: Seconds,
    /// Where the number comes from.
    pub provenance: Provenance,
    /// How long the FLOPs take at the peak, seconds.
    at_peak: f64,
}

/// The time of a kernel inside an engine step, where its operands come from memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OpTime {
    /// How long it takes.
    pub time: Seconds,
    /// What sets its pace.
    pub binding: Binding,
    /// Where the number comes from.
    pub source: TimeSource,
}

/// Where the time of a part of a step comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeSource {
    /// Kernel tables.
    LookedUp(Provenance),
    /// Constants that were fitted to the step times of measured servers, and traffic. Stands outside of the
    /// order of the classes: no kernel was measured that would make it better or worse.
    Fitted,
}

impl TimeSource {
    /// The provenance of a time that was looked up.
    pub const fn provenance(self) -> Option<Provenance> {
        match self {
            TimeSource::LookedUp(provenance) => Some(provenance),
            TimeSource::Fitted => None,
        }
    }

    /// The source of a sum of two times: the worst provenance, [`Fitted`](Self::Fitted) if one of them is.
    #[must_use]
    #[inline]
    pub fn worst(self, other: TimeSource) -> TimeSource {
        match (self, other) {
            (TimeSource::LookedUp(one), TimeSource::LookedUp(two)) => {
                TimeSource::LookedUp(one.worst(two))
            }
            _ => TimeSource::Fitted,
        }
    }
}

impl From<Provenance> for TimeSource {
    fn from(provenance: Provenance) -> TimeSource {
        TimeSource::LookedUp(provenance)
    }
}

/// The provenance, or "fitted".
impl fmt::Display for TimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeSource::LookedUp(provenance) => provenance.fmt(f),
            TimeSource::Fitted => f.write_str("fitted"),
        }
    }
}

/// The resource that sets the pace.
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
    /// What sets the pace of `work` with `latency_s` of launches and waiting: the largest of the four
    /// times.
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

impl Estimate {
    /// A table's answer: the measured latency or else `seconds`, never faster than the `at_peak` seconds
    /// that its FLOPs take at the peak.
    #[inline]
    pub(crate) fn new(reading: &Reading, seconds: f64, at_peak: f64) -> Estimate {
        let measured = reading.latency_us.unwrap_or_default();
        let time = core::hint::select_unpredictable(
            reading.latency_us.is_some(),
            f64::from(measured) * 1e-6,
            seconds,
        );
        Estimate {
            time: Seconds(larger(time, at_peak)),
            provenance: reading.provenance,
            at_peak,
        }
    }

    /// FLOPs that take `at_peak` seconds at the peak, at a given MFU.
    pub(crate) fn at_mfu(at_peak: f64, mfu: Mfu, provenance: Provenance) -> Estimate {
        let time = Seconds(at_peak / mfu.0);
        Estimate {
            time,
            provenance,
            at_peak,
        }
    }

    /// Model FLOPs utilisation: FLOPs over time and peak, never above 1; 0 for a kernel without
    /// matrix math.
    pub fn mfu(&self) -> Mfu {
        Mfu(self.at_peak / self.time.0)
    }

    /// The same with `seconds` more.
    pub(crate) fn longer_by(self, seconds: f64) -> Estimate {
        let time = Seconds(self.time.0 + seconds);
        Estimate { time, ..self }
    }

    /// The same with a class no better than `best`.
    pub(crate) fn at_best(self, best: Class) -> Estimate {
        let provenance = self.provenance.at_best(best);
        Estimate { provenance, ..self }
    }

    /// The same inside a step: not faster than FLOPs, memory and link allow.
    pub(crate) fn in_step(self, work: &Work, reference: &Reference) -> OpTime {
        let rates = &reference.rates;
        OpTime {
            time: Seconds(self.time.0.max(work.bound_s(rates))),
            binding: Binding::of(work, rates, reference.t0_s),
            source: self.provenance.into(),
        }
    }
}
