//! The only place of rooflut that calls libm.
//!
//! `core` has no transcendental functions and those of `std` differ in the last bits from platform to
//! platform; every number in rooflut goes through these, so the same input gives the same bytes
//! everywhere.

/// Natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// Exponential.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Square root.
pub fn sqrt(x: f64) -> f64 {
    libm::sqrt(x)
}
