//! Ranges of lengths.

use std::fmt;
use std::ops::RangeInclusive;

use crate::number::whole;

/// A range of lengths, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthRange {
    /// The shortest.
    pub min: u32,
    /// The longest.
    pub max: u32,
}

impl LengthRange {
    /// All lengths.
    pub const ANY: LengthRange = LengthRange { min: 1, max: u32::MAX };

    /// Reads `MIN..MAX`.
    pub(crate) fn read(text: &str) -> Option<LengthRange> {
        let (min, max) = text.split_once("..")?;
        let (min, max) = (whole(min.trim()).ok()?, whole(max.trim()).ok()?);
        Some(LengthRange { min, max })
    }

    pub(crate) fn inclusive(self) -> RangeInclusive<u32> {
        self.min..=self.max
    }

    /// The length of the range that is nearest to `length`.
    pub(crate) fn nearest(self, length: u32) -> u32 {
        length.min(self.max).max(self.min)
    }
}

impl fmt::Display for LengthRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.min, self.max)
    }
}
