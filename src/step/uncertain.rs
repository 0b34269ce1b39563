//! Parts of steps that are less certain than is accepted.

use core::fmt;

use super::Part;
use crate::table::{Provenance, Strictness, TooUncertain};

/// A part of a step that is less certain than the caller accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UncertainPart {
    /// The part.
    pub part: Part,
    /// The provenance of its time, and the accepted ones.
    pub error: TooUncertain,
}

impl UncertainPart {
    /// Checks the looked-up times of parts. Reports the least certain part: accepting it accepts the class of all.
    pub(super) fn check(
        strictness: Strictness,
        parts: impl Iterator<Item = (Part, Option<Provenance>)>,
    ) -> Result<(), UncertainPart> {
        let looked_up = parts.filter_map(|(part, provenance)| Some((part, provenance?)));
        let refused = looked_up.filter_map(|(part, provenance)| {
            let error = strictness.check(provenance).err()?;
            Some(UncertainPart { part, error })
        });
        // The first of equals, as a reader would find it.
        let worst = refused.reduce(|worst, other| {
            let certainty = |part: &UncertainPart| (part.error.found.class, part.error.found.extent);
            if certainty(&other) > certainty(&worst) { other } else { worst }
        });
        worst.map_or(Ok(()), Err)
    }
}

impl fmt::Display for UncertainPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.error)
    }
}

impl core::error::Error for UncertainPart {}
