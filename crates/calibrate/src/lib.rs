#![doc = include_str!("../README.md")]

mod learn;
mod posterior;
mod priors;
mod residual;

pub use learn::{Learned, learn};
pub use posterior::{Expected, Posterior};
pub use priors::{Priors, Scales};
pub use residual::{CONSTANTS, Metric, Residual, Vector};
