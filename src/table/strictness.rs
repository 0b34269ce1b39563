//! The least certain answer that a caller accepts.

use core::fmt;
use core::str::FromStr;

use super::provenance::class_and_extent;
use super::{Class, Extent, ParseProvenanceError, Provenance};

/// The least certain answer that a caller accepts.
///
/// ```
/// use rooflut::table::{Class, Strictness};
/// let strict = Strictness::at_worst(Class::Transferred).inside();
/// assert!(strict.accepts(Class::Interpolated.inside()));
/// assert!(!strict.accepts(Class::Interpolated.outside()));
/// assert!(!strict.accepts(Class::Bound.inside()));
/// assert!(Strictness::ANY.accepts(Class::Bound.outside()));
/// assert_eq!("transferred,inside".parse(), Ok(strict));
/// assert_eq!(
///     strict.check(Class::Interpolated.outside()).unwrap_err().to_string(),
///     "expected transferred or better inside of the measured ranges, found interpolated,outside; stay \
///      inside of these ranges, or accept answers outside of them"
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Strictness {
    worst: Provenance,
}

impl Strictness {
    /// Accepts every answer.
    pub const ANY: Strictness = Strictness::at_worst(Class::Bound);

    /// Accepts `worst` and better classes, inside and outside the measured axes.
    pub const fn at_worst(worst: Class) -> Strictness {
        Strictness { worst: worst.outside() }
    }

    /// Restricts the accepted classes to answers inside the measured axes.
    #[must_use]
    pub const fn inside(self) -> Strictness {
        Strictness { worst: self.worst.class.inside() }
    }

    /// Returns the worst accepted provenance.
    pub const fn worst(self) -> Provenance {
        self.worst
    }

    /// Returns whether `provenance` is accepted, in class and in extent.
    pub fn accepts(self, provenance: Provenance) -> bool {
        provenance.worst(self.worst) == self.worst
    }

    /// Checks that an answer is accepted.
    ///
    /// # Errors
    /// The answer is not accepted. The error says whether class or extent is worse, and which strictness would accept
    /// it.
    pub fn check(self, found: Provenance) -> Result<(), TooUncertain> {
        if self.accepts(found) { Ok(()) } else { Err(TooUncertain { found, accepted: self }) }
    }

    /// Returns the least strictness that accepts both what this one does and `provenance`.
    #[must_use]
    pub fn or(self, provenance: Provenance) -> Strictness {
        Strictness { worst: self.worst.worst(provenance) }
    }
}

impl Default for Strictness {
    fn default() -> Strictness {
        Strictness::ANY
    }
}

crate::as_text!(Strictness);

/// Writes the worst class, followed by ",inside" if answers outside the measured axes are not accepted.
impl fmt::Display for Strictness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worst.extent {
            Extent::Inside => write!(f, "{},inside", self.worst.class),
            Extent::Outside => f.write_str(self.worst.class.name()),
        }
    }
}

/// Parses a class, `inside`, or both with a comma between them. A class alone, or followed by `,outside`, accepts
/// answers inside and outside the measured axes.
impl FromStr for Strictness {
    type Err = ParseProvenanceError;

    fn from_str(text: &str) -> Result<Strictness, ParseProvenanceError> {
        let (class, extent) = class_and_extent(text).ok_or(ParseProvenanceError {
            expected: "one of measured, interpolated, smoothed, transferred, bound; or inside; or both, as \
                       in interpolated,inside",
        })?;
        let extent = extent.unwrap_or(Extent::Outside);
        Ok(Strictness { worst: Provenance::new(class.unwrap_or(Class::Bound), extent) })
    }
}

/// An answer that is less certain than the caller accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooUncertain {
    /// The provenance of the answer.
    pub found: Provenance,
    /// The accepted answers.
    pub accepted: Strictness,
}

impl TooUncertain {
    /// Returns the strictness that also accepts the answer.
    pub fn wider(&self) -> Strictness {
        self.accepted.or(self.found)
    }
}

/// Writes the accepted and the found provenance, and a correction for the one that is worse: class, extent, or both.
impl fmt::Display for TooUncertain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooUncertain { found, accepted } = self;
        let Provenance { class, extent } = accepted.worst();
        f.write_str("expected ")?;
        match class {
            Class::Measured => f.write_str("measured")?,
            Class::Bound => f.write_str("any class")?,
            class => write!(f, "{class} or better")?,
        }
        if extent == Extent::Inside {
            f.write_str(" inside of the measured ranges")?;
        }
        write!(f, ", found {found}; ")?;
        match (found.class > class, found.extent > extent) {
            (true, false) => write!(f, "accept {} answers", found.class),
            (true, true) => write!(f, "accept {} answers, also outside of these ranges", found.class),
            _ => f.write_str("stay inside of these ranges, or accept answers outside of them"),
        }
    }
}

impl core::error::Error for TooUncertain {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_strictness_parses_its_display_and_uses_the_names_of_provenances() {
        for provenance in Provenance::all() {
            let strict = Strictness::ANY.inside().or(provenance);
            assert_eq!(strict.to_string().parse(), Ok(strict));
            let in_full = std::format!("{} , {}", provenance.class, provenance.extent);
            assert_eq!(in_full.parse(), Ok(provenance));
            let strict: Strictness = in_full.parse().unwrap();
            assert_eq!(strict.worst(), provenance);
        }
        assert_eq!("outside".parse(), Ok(Strictness::ANY));
    }

    #[test]
    fn class_and_extent_are_checked_independently() {
        let strict = Strictness::at_worst(Class::Smoothed);
        for provenance in Provenance::all() {
            let good = provenance.class <= Class::Smoothed;
            assert_eq!(strict.accepts(provenance), good, "{provenance}");
            let inside = provenance.extent == Extent::Inside;
            let strictly = strict.inside().accepts(provenance);
            assert_eq!(strictly, good && inside, "{provenance}");
            assert!(strict.inside().or(provenance).accepts(provenance));
        }
    }

    #[test]
    fn the_error_names_the_worse_property_and_the_strictness_that_accepts_it() {
        let strict = Strictness::at_worst(Class::Interpolated).inside();
        for (found, advice, wider) in [
            (Class::Smoothed.inside(), "; accept smoothed answers", "smoothed,inside"),
            (
                Class::Measured.outside(),
                "; stay inside of these ranges, or accept answers outside of them",
                "interpolated",
            ),
            (Class::Bound.outside(), "; accept bound answers, also outside of these ranges", "bound"),
        ] {
            let error = strict.check(found).unwrap_err();
            assert!(error.to_string().ends_with(advice), "{error}");
            assert_eq!(error.wider().to_string(), wider);
            assert_eq!(error.wider().check(found), Ok(()));
        }
    }

    #[test]
    fn unknown_names_are_rejected_with_the_valid_ones() {
        for text in ["", "extrapolated", "inside,measured", "measured,,inside"] {
            let error = text.parse::<Strictness>().unwrap_err().to_string();
            assert!(error.contains("interpolated,inside"), "{text}: {error}");
        }
        assert_eq!(" inside ".parse(), Ok(Strictness::ANY.inside()));
    }
}
