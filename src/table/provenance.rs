//! Where an answer comes from, and how bad an origin a caller accepts.

use core::fmt;

/// Where a number comes from, from best to worst; a sum takes the worst of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// A row of the table.
    Measured,
    /// Between measured rows.
    Interpolated,
    /// Beyond the last or before the first measured row.
    Extrapolated,
    /// Efficiency taken from another shape, or from a context that was not measured.
    Transferred,
    /// No measurement: physics, with an assumed share of the peak.
    Bound,
}

impl Provenance {
    /// All of them, from best to worst.
    pub const ALL: [Provenance; 5] = [
        Provenance::Measured,
        Provenance::Interpolated,
        Provenance::Extrapolated,
        Provenance::Transferred,
        Provenance::Bound,
    ];

    /// The name used in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            Provenance::Measured => "measured",
            Provenance::Interpolated => "interpolated",
            Provenance::Extrapolated => "extrapolated",
            Provenance::Transferred => "transferred",
            Provenance::Bound => "bound",
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The worst [`Provenance`] that a caller accepts.
///
/// ```
/// use rooflut::table::{Provenance, Strictness};
/// let strict = Strictness::at_worst(Provenance::Interpolated);
/// assert!(strict.accepts(Provenance::Measured));
/// assert!(!strict.accepts(Provenance::Transferred));
/// assert!(Strictness::ANY.accepts(Provenance::Bound));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strictness {
    worst: Provenance,
}

impl Strictness {
    /// Accepts every answer.
    pub const ANY: Strictness = Strictness::at_worst(Provenance::Bound);

    /// Accepts `worst` and what is better.
    pub const fn at_worst(worst: Provenance) -> Strictness {
        Strictness { worst }
    }

    /// The worst that is accepted.
    pub const fn worst(self) -> Provenance {
        self.worst
    }

    /// Whether `provenance` is good enough.
    pub fn accepts(self, provenance: Provenance) -> bool {
        provenance <= self.worst
    }
}

impl Default for Strictness {
    fn default() -> Strictness {
        Strictness::ANY
    }
}
