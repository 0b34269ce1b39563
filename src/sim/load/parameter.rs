//! Checks of the parameters of distributions.

use crate::sim::SimError;

/// Returns `found` if it is positive and finite.
pub(crate) fn positive(parameter: &'static str, found: f64) -> Result<f64, SimError> {
    if found > 0.0 && found.is_finite() {
        return Ok(found);
    }
    Err(SimError::InvalidParameter { parameter, expected: "a positive, finite number", found })
}

/// Returns `found` if it is finite and at least 0.
pub(crate) fn not_negative(parameter: &'static str, found: f64) -> Result<f64, SimError> {
    if found >= 0.0 && found.is_finite() {
        return Ok(found);
    }
    Err(SimError::InvalidParameter { parameter, expected: "a finite number of at least 0", found })
}
