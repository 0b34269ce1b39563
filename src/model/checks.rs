//! Checks of dimensions.

use super::SpecError;

/// Maximum hidden and intermediate size. With [`MAX_COUNT`], it keeps the number of weights below 2^64.
pub(super) const MAX_WIDTH: u32 = 1 << 18;
/// Maximum number of layers, heads, experts, and dimension of a head.
pub(super) const MAX_COUNT: u32 = 1 << 12;

pub(super) fn product<const N: usize>(factors: [u64; N]) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

pub(super) fn within(field: &'static str, found: u32, limit: u32) -> Result<(), SpecError> {
    match found {
        0 => Err(SpecError::Zero { field }),
        _ if found > limit => Err(SpecError::TooLarge { field, found, limit }),
        _ => Ok(()),
    }
}

pub(super) fn divides(field: &'static str, found: u32, by: &'static str, divisor: u32) -> Result<(), SpecError> {
    if found.is_multiple_of(divisor) { Ok(()) } else { Err(SpecError::NotDivisible { field, found, by, divisor }) }
}
