#![doc = include_str!("../README.md")]

mod calibration;
mod constant;
mod errors;
mod learn;
mod next;
mod posterior;
mod priors;
mod record;
mod residual;
mod watch;

pub use calibration::{Calibration, EIGHTY, Fitted, Row, Times, calibrate, residuals};
pub use constant::{Constant, Field};
pub use errors::ERRORS;
pub use learn::learn;
pub use next::{Gain, next};
pub use posterior::{Expected, Posterior};
pub use priors::{Priors, Scales};
pub use record::{Record, RecordedFigure, RecordedRun};
pub use residual::{CONSTANTS, Metric, Residual, Vector};
pub use watch::{Change, New};
