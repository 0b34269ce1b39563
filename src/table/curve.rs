//! Latencies measured along one axis.

use super::{Axis, Bracket, Class, Place, Points, Provenance};

/// Latencies of one kernel shape along one axis (GEMM rows, tokens, bytes).
///
/// Beside each latency stands the logarithm of the *slowdown*: latency over the reference time that
/// the roofline gives for that point. It varies slowly, so it is what gets interpolated.
#[derive(Debug, Clone, Copy)]
pub struct Curve<'a> {
    axis: Axis<'a>,
    latency_us: &'a [f32],
    ln_slowdown: &'a [f32],
}

/// What a table knows about a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// The measured latency, microseconds, where the point is a row of the table.
    pub latency_us: Option<f32>,
    /// Logarithm of latency over reference time.
    pub ln_slowdown: f64,
    /// Measured or interpolated; outside the axis the slowdown of its end is held.
    pub provenance: Provenance,
}

impl Reading {
    /// What is known where nothing was measured.
    pub(super) const NONE: Reading = Reading {
        latency_us: None,
        ln_slowdown: 0.0,
        provenance: Class::Interpolated.outside(),
    };
}

impl<'a> Curve<'a> {
    /// A curve over `axis` without latencies: nothing was measured.
    pub(crate) const fn blended(axis: Axis<'a>, ln_slowdown: &'a [f32]) -> Curve<'a> {
        Curve {
            axis,
            latency_us: &[],
            ln_slowdown,
        }
    }

    /// The measured coordinates.
    pub const fn axis(&self) -> Axis<'a> {
        self.axis
    }

    /// The measured latencies, microseconds.
    pub const fn latency_us(&self) -> &'a [f32] {
        self.latency_us
    }

    /// The logarithms of latency over reference time.
    pub(crate) const fn ln_slowdown(&self) -> &'a [f32] {
        self.ln_slowdown
    }

    /// The slowdown at `x`: linear in logarithms between rows, held beyond the ends.
    pub(crate) fn read(&self, x: f64, ln_x: f64) -> Reading {
        self.read_at(self.axis.locate_ln(x, ln_x))
    }

    /// The slowdown at a place on the axis.
    #[inline(always)] // It takes and returns structs, which cost as much as what it does.
    #[allow(clippy::inline_always)]
    pub(crate) fn read_at(&self, at: Bracket) -> Reading {
        let lo = self
            .ln_slowdown
            .get(at.lo)
            .map_or(0.0, |&value| f64::from(value));
        let hi = self
            .ln_slowdown
            .get(at.hi)
            .map_or(0.0, |&value| f64::from(value));
        Reading {
            latency_us: self
                .latency_us
                .get(at.lo)
                .copied()
                .filter(|_| at.place == Place::On),
            ln_slowdown: lo + (hi - lo) * at.weight,
            provenance: at.place.provenance(),
        }
    }
}

impl<'a> From<Points<'a>> for Curve<'a> {
    #[inline]
    fn from(points: Points<'a>) -> Curve<'a> {
        let Points {
            axes: [axis, _],
            latency_us,
            ln_slowdown,
        } = points;
        Curve {
            axis,
            latency_us,
            ln_slowdown,
        }
    }
}

impl Place {
    /// The provenance of an answer at this place.
    pub(crate) const fn provenance(self) -> Provenance {
        match self {
            Place::On => Class::Measured.inside(),
            Place::Between => Class::Interpolated.inside(),
            Place::Below | Place::Above => Class::Interpolated.outside(),
        }
    }
}
