//! Checks of dimensions.

use crate::error::{Invalid, MessagePart};

/// Maximum hidden and intermediate size. With [`MAX_COUNT`], it keeps the number of weights below 2^64.
pub(super) const MAX_WIDTH: u32 = 1 << 18;
/// Maximum number of layers, heads, experts, and dimension of a head.
pub(super) const MAX_COUNT: u32 = 1 << 12;

pub(super) fn product<const N: usize>(factors: [u64; N]) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

pub(super) fn within(field: &'static str, found: u32, limit: u32) -> Result<(), Invalid> {
    match found {
        0 => Err(Invalid::new(field, "expected a positive number, found 0", &[])),
        _ if found > limit => Err(Invalid::new(field, "expected at most {}, found {}", &[limit.into(), found.into()])),
        _ => Ok(()),
    }
}

pub(super) fn divides(field: &'static str, found: u32, by: &'static str, divisor: u32) -> Result<(), Invalid> {
    if found.is_multiple_of(divisor) {
        return Ok(());
    }
    let values = [MessagePart::Setting(by), divisor.into(), found.into()];
    Err(Invalid::new(field, "expected a multiple of {} ({}), found {}", &values))
}
