//! What an operation answers.

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
    #[cfg(feature = "compat")]
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
}
