//! Latencies measured along one axis.

use super::{Axis, Bracket, Class, Points, Position, Provenance};

/// Latencies of one kernel shape along one axis (GEMM rows, tokens, bytes).
///
/// Each latency comes with the logarithm of its *slowdown*: latency over the roofline's reference time for that point.
/// The slowdown is the interpolated quantity, because it varies slowly.
#[derive(Debug, Clone, Copy)]
pub struct Curve<'a> {
    axis: Axis<'a>,
    latency_us: &'a [f32],
    ln_slowdown: &'a [f32],
}

/// The result of reading a table at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// The measured latency, microseconds, if the point is a row of the table.
    pub latency_us: Option<f32>,
    /// Logarithm of latency over reference time.
    pub ln_slowdown: f64,
    /// Measured or interpolated. Outside the axis, the slowdown of the nearest end is held.
    pub provenance: Provenance,
}

impl Reading {
    /// The result without any measurement.
    pub(super) const NONE: Reading =
        Reading { latency_us: None, ln_slowdown: 0.0, provenance: Class::Interpolated.outside() };
}

impl<'a> Curve<'a> {
    /// Creates a curve over `axis` without latencies, because none was measured.
    pub(crate) const fn blended(axis: Axis<'a>, ln_slowdown: &'a [f32]) -> Curve<'a> {
        Curve { axis, latency_us: &[], ln_slowdown }
    }

    /// Returns the measured coordinates.
    pub const fn axis(&self) -> Axis<'a> {
        self.axis
    }

    /// Returns the measured latencies, microseconds.
    pub const fn latency_us(&self) -> &'a [f32] {
        self.latency_us
    }

    /// Returns the logarithms of latency over reference time.
    pub(crate) const fn ln_slowdown(&self) -> &'a [f32] {
        self.ln_slowdown
    }

    /// Returns the slowdown at `x`: linear in logarithms between rows, held beyond the ends.
    #[inline(always)] // Passing the structs costs as much as the computation.
    #[allow(clippy::inline_always)]
    pub(crate) fn read(&self, x: f64, ln_x: f64) -> Reading {
        self.read_at(self.axis.locate_ln(x, ln_x))
    }

    /// Returns the slowdown at a position on the axis.
    #[inline(always)] // Passing the structs costs as much as the computation.
    #[allow(clippy::inline_always)]
    pub(crate) fn read_at(&self, at: Bracket) -> Reading {
        let lo = self.ln_slowdown.get(at.lo).map_or(0.0, |&value| f64::from(value));
        let hi = self.ln_slowdown.get(at.hi).map_or(0.0, |&value| f64::from(value));
        Reading {
            latency_us: self.latency_us.get(at.lo).copied().filter(|_| at.position == Position::On),
            ln_slowdown: lo + (hi - lo) * at.weight,
            provenance: at.position.provenance(),
        }
    }
}

impl<'a> From<Points<'a>> for Curve<'a> {
    #[inline]
    fn from(points: Points<'a>) -> Curve<'a> {
        let Points { axes: [axis, _], latency_us, ln_slowdown } = points;
        Curve { axis, latency_us, ln_slowdown }
    }
}

impl Position {
    /// Returns the provenance of an answer at this position.
    pub(crate) const fn provenance(self) -> Provenance {
        match self {
            Position::On => Class::Measured.inside(),
            Position::Between => Class::Interpolated.inside(),
            Position::Below | Position::Above => Class::Interpolated.outside(),
        }
    }
}
