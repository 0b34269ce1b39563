//! The source of the time of a part.

use core::fmt;

use crate::table::Provenance;
use crate::units::Seconds;

/// The source of the time of a part of a step: kernel tables, constants that were fitted to servers, or both.
///
/// Fitted time is not part of the order of the classes, because no kernel measurement could make it better or worse.
/// It comes from the [constants of the engine](crate::engine::StepConstants) and from traffic.
///
/// ```
/// use rooflut::step::TimeSource;
/// use rooflut::table::Class;
///
/// let table = TimeSource::from(Class::Transferred.inside());
/// assert_eq!((table.provenance(), table.fitted_share()), (Some(Class::Transferred.inside()), 0.0));
/// assert_eq!((TimeSource::FITTED.provenance(), TimeSource::FITTED.fitted_share()), (None, 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(remote = "Self", deny_unknown_fields))]
pub struct TimeSource {
    pub(super) provenance: Option<Provenance>,
    /// 0 to 1, stored in 32 bits to keep a step small.
    pub(super) fitted_share: f32,
}

impl TimeSource {
    /// Constants that were fitted to the step times of measured servers, and traffic.
    pub const FITTED: TimeSource = TimeSource { provenance: None, fitted_share: 1.0 };

    /// Creates the source of a time from kernel tables.
    pub const fn looked_up(provenance: Provenance) -> TimeSource {
        TimeSource { provenance: Some(provenance), fitted_share: 0.0 }
    }

    /// Returns the provenance of the looked-up time, or `None` if there is none.
    pub const fn provenance(self) -> Option<Provenance> {
        self.provenance
    }

    /// Returns the share of the time that comes from constants fitted to servers, 0 to 1.
    pub fn fitted_share(self) -> f64 {
        f64::from(self.fitted_share)
    }

    /// Returns the source of a sum of two times: the worst provenance, and the fitted share of both together.
    #[must_use]
    #[inline]
    pub(super) fn plus(self, own: Seconds, other: TimeSource, others: Seconds) -> TimeSource {
        let fitted = own * self.fitted_share() + others * other.fitted_share();
        let total = own + others;
        TimeSource {
            provenance: worst(self.provenance, other.provenance),
            fitted_share: if total > Seconds::ZERO {
                (fitted.0 / total.0) as f32
            } else {
                self.fitted_share.max(other.fitted_share)
            },
        }
    }
}

/// Returns the worse of two provenances, if there is one.
#[inline]
pub(super) fn worst(one: Option<Provenance>, other: Option<Provenance>) -> Option<Provenance> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.worst(other)),
        _ => one.or(other),
    }
}

#[cfg(feature = "serde")]
crate::checked!(TimeSource, |source: &TimeSource| {
    let share = source.fitted_share;
    match source.provenance {
        _ if !(0.0..=1.0).contains(&share) => Err("fitted_share: expected a number from 0 to 1"),
        None if share < 1.0 => Err("fitted_share: expected 1 without a provenance"),
        _ => Ok(()),
    }
});

impl From<Provenance> for TimeSource {
    fn from(provenance: Provenance) -> TimeSource {
        TimeSource::looked_up(provenance)
    }
}

/// The provenance, "fitted", or both: "62 % fitted, interpolated".
impl fmt::Display for TimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.provenance {
            None => f.write_str("fitted"),
            Some(provenance) if self.fitted_share > 0.0 => {
                write!(f, "{:.0} % fitted, {provenance}", 100.0 * self.fitted_share)
            }
            Some(provenance) => provenance.fmt(f),
        }
    }
}
