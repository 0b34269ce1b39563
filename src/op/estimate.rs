//! The answer of an operation.

use crate::interval::{Coverage, Interval};
use crate::math::larger;
use crate::table::{Class, ErrorGroup, Provenance, Reading};
use crate::units::{Mfu, Seconds};

/// The time of a kernel and its provenance.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Time of the kernel.
    pub time: Seconds,
    /// Where the time comes from.
    pub provenance: Provenance,
    /// Time of the FLOPs at the peak, seconds.
    at_peak: f64,
}

impl Estimate {
    /// Creates the answer of a table: the measured latency, or else `seconds`, but not less than the `at_peak`
    /// seconds that the FLOPs take at the peak.
    #[inline]
    pub(crate) fn new(reading: &Reading, seconds: f64, at_peak: f64) -> Estimate {
        let measured = reading.latency_us.unwrap_or_default();
        let time = core::hint::select_unpredictable(reading.latency_us.is_some(), f64::from(measured) * 1e-6, seconds);
        Estimate { time: Seconds(larger(time, at_peak)), provenance: reading.provenance, at_peak }
    }

    /// Returns the model FLOPs utilization: FLOPs over time and peak, at most 1; 0 for a kernel without matrix math.
    pub fn mfu(&self) -> Mfu {
        Mfu(self.at_peak / self.time.0)
    }

    /// Returns the range expected to contain the share `coverage` of the measurements of such kernels, given the
    /// `errors` of the lookup that made the estimate. The range does not reach below the time of the FLOPs at the peak.
    ///
    /// ```
    /// use rooflut::hardware::{Dtype, GemmShape};
    /// use rooflut::interval::Coverage;
    /// use rooflut::op::Gemm;
    /// use rooflut::table::sets;
    ///
    /// let gemm = Gemm::resolve(&sets::H100, GemmShape { dtype: Dtype::Bf16, k: 4096, n: 6144 })?;
    /// let estimate = gemm.at(100);
    /// let interval = estimate.interval(gemm.errors(), Coverage::try_new(0.8)?);
    /// assert!(interval.low < estimate.time && estimate.time < interval.high);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn interval(&self, errors: ErrorGroup, coverage: Coverage) -> Interval {
        let half_width = errors.half_width(self.provenance.extent, coverage);
        Interval::around(self.time, half_width, Seconds(self.at_peak))
    }

    /// Returns the estimate with `seconds` added.
    pub(crate) fn longer_by(self, seconds: f64) -> Estimate {
        let time = Seconds(self.time.0 + seconds);
        Estimate { time, ..self }
    }

    /// Returns the estimate with a class no better than `best`.
    pub(crate) fn at_best(self, best: Class) -> Estimate {
        let provenance = self.provenance.at_best(best);
        Estimate { provenance, ..self }
    }
}
