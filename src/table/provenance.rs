//! Provenance of answers.

use core::fmt;
use core::str::FromStr;

/// The kind of data that an answer was computed from, from the most to the least certain.
///
/// Independent of the place on the measured axes: see [`Extent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// A row of the table.
    Measured,
    /// Rows of the same shape: the mean of the rows around the query, or the efficiency of the nearest row if the query
    /// lies outside the measured axes. For a GEMM also the mean of the four measured shapes around its own shape.
    Interpolated,
    /// A summary of many rows: a curve without the scatter of single rows, a floor and a slope.
    Smoothed,
    /// The efficiency of another shape, or a context that was not measured.
    Transferred,
    /// No measurement: the roofline bound with an assumed share of the peak. Always outside.
    Bound,
}

/// Whether a query lies within the measured part of a table's axes (rows, batch, length, tokens, bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Extent {
    /// On a measured point, or with measured points on all sides.
    Inside,
    /// Before the first or after the last measured coordinate, or next to a hole of a ragged grid. The efficiency of
    /// the nearest measured points is held.
    Outside,
}

/// The certainty of a number: its class, and whether the query lies inside the measured axes.
///
/// The two are independent. On measured attention that is in no table set, transferred answers are off by 1.7 %
/// (decode) and 4.7 % (prefill) inside the axes, and by 5.8 % and 8.2 % outside (medians).
///
/// ```
/// use rooflut::table::{Class, Provenance};
/// let far = Class::Interpolated.outside();
/// assert_eq!(far.worst(Class::Transferred.inside()), Class::Transferred.outside());
/// assert_eq!(far.to_string(), "interpolated,outside");
/// assert_eq!("transferred".parse(), Ok(Class::Transferred.inside()));
/// # Ok::<(), rooflut::table::ParseProvenanceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Provenance {
    /// The kind of data behind the answer.
    pub class: Class,
    /// Whether the query lies inside the measured axes.
    pub extent: Extent,
}

crate::names!(Class {
    Measured => "measured",
    Interpolated => "interpolated",
    Smoothed => "smoothed",
    Transferred => "transferred",
    Bound => "bound",
});

crate::names!(Extent {
    Inside => "inside",
    Outside => "outside",
});

impl Class {
    /// Returns this class inside the measured axes.
    pub const fn inside(self) -> Provenance {
        Provenance::new(self, Extent::Inside)
    }

    /// Returns this class outside the measured axes.
    pub const fn outside(self) -> Provenance {
        Provenance::new(self, Extent::Outside)
    }
}

impl Provenance {
    /// Number of distinct values.
    pub(crate) const COUNT: usize = Class::ALL.len() * Extent::ALL.len();

    /// Creates a provenance of a class and an extent.
    pub const fn new(class: Class, extent: Extent) -> Provenance {
        Provenance { class, extent }
    }

    /// Returns the provenance of a sum of two answers: the worse class and the worse extent.
    #[must_use]
    #[inline]
    pub fn worst(self, other: Provenance) -> Provenance {
        Provenance { class: self.class.max(other.class), extent: self.extent.max(other.extent) }
    }

    /// Returns the provenance with a class no better than `best`.
    #[must_use]
    #[inline]
    pub(crate) fn at_best(self, best: Class) -> Provenance {
        Provenance { class: self.class.max(best), ..self }
    }

    /// Returns all values, in the order of [`index`](Self::index).
    pub(crate) fn all() -> impl Iterator<Item = Provenance> {
        let classes = Class::ALL.into_iter();
        classes.flat_map(|class| [class.inside(), class.outside()])
    }

    /// Returns the index in [`all`](Self::all), below [`COUNT`](Self::COUNT).
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.class as usize * Extent::ALL.len() + self.extent as usize
    }
}

crate::as_text!(Provenance);

/// Writes the class, followed by ",outside" if it is.
impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Extent::Inside => f.write_str(self.class.name()),
            Extent::Outside => write!(f, "{},{}", self.class, self.extent),
        }
    }
}

/// The error of parsing a [`Provenance`] or [`Strictness`](super::Strictness).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseProvenanceError {
    pub(super) expected: &'static str,
}

impl fmt::Display for ParseProvenanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for ParseProvenanceError {}

/// Parses a class, inside unless `,outside` follows.
impl FromStr for Provenance {
    type Err = ParseProvenanceError;

    fn from_str(text: &str) -> Result<Provenance, ParseProvenanceError> {
        match class_and_extent(text) {
            Some((Some(class), extent)) => Ok(Provenance::new(class, extent.unwrap_or(Extent::Inside))),
            _ => Err(ParseProvenanceError {
                expected: "one of measured, interpolated, smoothed, transferred, bound; add \
                           ,outside, as in interpolated,outside, for an answer outside the measured \
                           ranges",
            }),
        }
    }
}

/// Parses a class, an extent, or both with a comma between them; returns `None` for anything else.
pub(super) fn class_and_extent(text: &str) -> Option<(Option<Class>, Option<Extent>)> {
    let Some((class, extent)) = text.split_once(',') else {
        let text = text.trim();
        let class = text.parse().map(|class| (Some(class), None));
        return class.or_else(|_| text.parse().map(|extent| (None, Some(extent)))).ok();
    };
    let (class, extent) = (class.trim().parse(), extent.trim().parse());
    Some((Some(class.ok()?), Some(extent.ok()?)))
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn values_have_distinct_indices_and_parse_from_their_display() {
        for (place, provenance) in Provenance::all().enumerate() {
            assert_eq!(provenance.index(), place);
            assert_eq!(provenance.to_string().parse(), Ok(provenance));
        }
        assert_eq!(Provenance::all().count(), Provenance::COUNT);
    }

    #[test]
    fn unknown_names_are_rejected_with_the_valid_ones() {
        let expected = "expected one of measured, interpolated, smoothed, transferred, bound";
        let error = "extrapolated".parse::<Class>().unwrap_err();
        assert_eq!(error.to_string(), expected);
        for text in ["", "extrapolated", "outside", "measured,far", "outside,measured"] {
            let error = text.parse::<Provenance>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert_eq!(" smoothed , inside".parse(), Ok(Class::Smoothed.inside()));
    }
}
