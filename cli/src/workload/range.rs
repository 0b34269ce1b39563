//! A range of lengths.

use std::ops::RangeInclusive;

/// From `min` to `max`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Range {
    /// All lengths.
    pub(super) const ANY: Range = Range {
        min: 1,
        max: u32::MAX,
    };

    /// `MIN..MAX`.
    pub(super) fn read(text: &str) -> Option<Range> {
        let (min, max) = text.split_once("..")?;
        let (min, max) = (min.trim().parse().ok()?, max.trim().parse().ok()?);
        Some(Range { min, max })
    }

    pub(super) fn inclusive(self) -> RangeInclusive<u32> {
        self.min..=self.max
    }

    /// The length of the range that is nearest to `length`.
    pub(super) fn nearest(self, length: u32) -> u32 {
        length.min(self.max).max(self.min)
    }
}
