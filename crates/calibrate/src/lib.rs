#![doc = include_str!("../README.md")]

mod calibration;
mod constant;
mod learn;
mod posterior;
mod priors;
mod residual;

pub use calibration::{Calibration, Errors, Fitted, Times, calibrate};
pub use constant::Constant;
pub use learn::{Learned, learn};
pub use posterior::{Expected, Posterior};
pub use priors::{Priors, Scales};
pub use residual::{CONSTANTS, Metric, Residual, Vector};
