//! Errors of lookups, by the kind of lookup.

use core::fmt;
use core::str::FromStr;

use rooflut_roofline::{Dtype, OperationKind};

use super::Extent;
use crate::generated::errors::GROUPS;
use crate::interval::Coverage;

/// Lookups with about the same relative errors: lookups of one operation and format in one set, either of measured
/// shapes or of other shapes.
///
/// The errors are quantiles of |ln(measured / predicted)| over left-out rows of the set: each left out alone, or with
/// all rows of its shape. `bench_data/errors.csv` has the quantiles. A set with too few rows, or one that is not built
/// in, takes the errors of [`set`](Self::set).
///
/// ```
/// use rooflut::hardware::{Dtype, GemmShape};
/// use rooflut::interval::Coverage;
/// use rooflut::op::Gemm;
/// use rooflut::table::{Extent, sets};
///
/// let gemm = Gemm::resolve(&sets::H100, GemmShape { dtype: Dtype::Bf16, k: 4096, n: 4096 })?;
/// let errors = gemm.errors();
/// assert_eq!(errors.to_string(), "h100 gemm bf16 measured");
/// assert_eq!(errors.set(Extent::Inside), "h100");
/// let most = errors.half_width(Extent::Inside, Coverage::try_new(0.8)?);
/// let nearly_all = errors.half_width(Extent::Inside, Coverage::try_new(0.95)?);
/// assert!(0.0 < most && most < nearly_all && nearly_all < 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorGroup(u16);

/// A group as generated.
pub(crate) struct GroupErrors {
    /// Set, operation, format and shape.
    pub(crate) name: &'static str,
    pub(crate) set: &'static str,
    /// `None`: any.
    pub(crate) operation: Option<OperationKind>,
    /// `None`: any.
    pub(crate) dtype: Option<Dtype>,
    /// Whether the shape was not measured.
    pub(crate) transferred: bool,
    /// By [`Extent`].
    pub(crate) errors: [Errors; Extent::ALL.len()],
}

/// Errors of left-out rows.
pub(crate) struct Errors {
    /// The set of the rows.
    pub(crate) set: &'static str,
    /// Quantiles of |ln(measured / predicted)| at 50, 80 and 95 %.
    pub(crate) quantiles: [f32; 3],
}

/// The groups of a table: by format, of measured shapes and of others.
pub(crate) type ErrorGroups = [[ErrorGroup; 2]; Dtype::ALL.len()];

impl ErrorGroup {
    /// The widest errors of any lookup in the reference set, for a time of unknown origin.
    pub const UNKNOWN: ErrorGroup = ErrorGroup(0);

    /// Returns the half width of the interval around a lookup, as a logarithm: a measurement lies within a factor of
    /// exp(half width) of the prediction with a probability of `coverage`.
    pub fn half_width(self, extent: Extent, coverage: Coverage) -> f64 {
        let errors = self.found().map(|group| &group.errors).and_then(|errors| errors.get(extent as usize));
        errors.map_or(0.0, |errors| coverage.quantile(errors.quantiles))
    }

    /// Returns the name of the set whose rows were left out: the set of the lookup, or else the reference set.
    pub fn set(self, extent: Extent) -> &'static str {
        let errors = self.found().map(|group| &group.errors).and_then(|errors| errors.get(extent as usize));
        errors.map_or("", |errors| errors.set)
    }

    fn found(self) -> Option<&'static GroupErrors> {
        GROUPS.get(usize::from(self.0))
    }
}

/// Returns the groups of a table. Formats and sets without rows of their own have the widest errors of the operation
/// in the reference set.
///
/// Evaluated at compile time for compiled sets, so a lookup of names costs nothing.
#[doc(hidden)]
pub const fn error_groups(set: &str, operation: OperationKind) -> ErrorGroups {
    let mut groups = [[ErrorGroup::UNKNOWN; 2]; Dtype::ALL.len()];
    let mut rest: &[GroupErrors] = &GROUPS;
    let mut place = 0;
    while let [group, after @ ..] = rest {
        let is_operation = match group.operation {
            Some(of) => of as u8 == operation as u8,
            None => false,
        };
        if is_operation {
            let mut code = 0;
            let mut slots: &mut [[ErrorGroup; 2]] = &mut groups;
            while let [[measured, other], others @ ..] = slots {
                match group.dtype {
                    // Sets without rows of their own; before those of sets in the list.
                    None if equal("other", group.set) || equal(set, group.set) => {
                        *measured = ErrorGroup(place);
                        *other = ErrorGroup(place);
                    }
                    Some(dtype) if dtype.code() == code && equal(set, group.set) => {
                        let slot = if group.transferred { other } else { measured };
                        *slot = ErrorGroup(place);
                    }
                    _ => {}
                }
                code += 1;
                slots = others;
            }
        }
        place += 1;
        rest = after;
    }
    groups
}

const fn equal(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while let ([a, rest @ ..], [b, others @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (rest, others);
    }
    one.is_empty() && other.is_empty()
}

crate::as_text!(ErrorGroup);

/// Writes set, operation, format and whether the shape was measured: `h100 gemm bf16 transferred`.
impl fmt::Display for ErrorGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.found().map_or("", |group| group.name))
    }
}

/// The error of parsing an [`ErrorGroup`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseErrorGroupError;

impl fmt::Display for ParseErrorGroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a group of bench_data/errors.csv, such as \"h100 gemm bf16 measured\"")
    }
}

impl core::error::Error for ParseErrorGroupError {}

impl FromStr for ErrorGroup {
    type Err = ParseErrorGroupError;

    fn from_str(text: &str) -> Result<ErrorGroup, ParseErrorGroupError> {
        let place = GROUPS.iter().position(|group| group.name == text).and_then(|place| u16::try_from(place).ok());
        place.map(ErrorGroup).ok_or(ParseErrorGroupError)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::table::sets;

    #[test]
    fn groups_have_distinct_names_that_parse() {
        for place in 0..GROUPS.len() {
            let group = ErrorGroup(place as u16);
            assert_eq!(group.to_string().parse(), Ok(group));
        }
        assert!("h100 gemm".parse::<ErrorGroup>().is_err());
    }

    #[test]
    fn tables_of_built_in_sets_have_groups_of_their_own() {
        for table in sets::H100.tables() {
            let [measured, other] = table.error_groups(Dtype::Bf16);
            if matches!(
                table.operation(),
                OperationKind::WindowPrefill
                    | OperationKind::WindowDecode
                    | OperationKind::DsaPrefill
                    | OperationKind::DsaDecode
                    | OperationKind::CompressedPrefill
                    | OperationKind::CompressedDecode
                    | OperationKind::MsaPrefill
                    | OperationKind::MsaDecode
                    | OperationKind::AllGather
                    | OperationKind::ReduceScatter
            ) {
                continue; // Not compared, or without 16-bit rows.
            }
            let name = std::format!("h100 {} bf16 ", table.operation().name());
            assert_eq!(measured.to_string(), name.clone() + "measured");
            assert_eq!(other.to_string(), name + "transferred");
        }
    }

    #[test]
    fn other_sets_and_formats_have_the_widest_errors_of_the_operation() {
        let widest = error_groups("mine", OperationKind::Gemm);
        assert_eq!(widest[0][0].to_string(), "other gemm any any");
        assert!(widest.iter().flatten().all(|group| *group == widest[0][0]));
        let coverage = Coverage::try_new(0.8).unwrap();
        let own = error_groups("h100", OperationKind::Gemm);
        for [measured, other] in own {
            for extent in Extent::ALL {
                let widest = widest[0][0].half_width(extent, coverage);
                assert!(measured.half_width(extent, coverage) <= widest);
                assert!(other.half_width(extent, coverage) <= widest);
                assert_eq!(measured.set(extent), "h100");
            }
        }
    }
}
