//! Checks of the parameters of distributions.

use crate::error::Invalid;

/// Returns `found` if it is positive and finite.
pub(crate) fn positive(parameter: &'static str, found: f64) -> Result<f64, Invalid> {
    if found > 0.0 && found.is_finite() {
        return Ok(found);
    }
    Err(Invalid::new(parameter, "expected a positive, finite number, found {}", &[found.into()]))
}

/// Returns `found` if it is finite and at least 0.
pub(crate) fn not_negative(parameter: &'static str, found: f64) -> Result<f64, Invalid> {
    if found >= 0.0 && found.is_finite() {
        return Ok(found);
    }
    Err(Invalid::new(parameter, "expected a finite number of at least 0, found {}", &[found.into()]))
}
