//! Fits the constants of `bench_data/engines/` to the measured runs of `laboratory/validation/`.
//!
//! Least squares over the H100 rows: time per output token and time to first token of load stages,
//! single decode steps, prompts and outputs of requests that ran alone. Replays of whole runs and other
//! GPUs are not fitted, so they test the constants.
//!
//! ```no_run
//! use rooflut_fit::{PARAMETERS, Problem, fit};
//! let found = fit(&Problem::embedded()?);
//! for (parameter, estimate) in PARAMETERS.iter().zip(&found.estimates) {
//!     println!("{} {} {}", parameter.name, estimate.value, parameter.unit);
//! }
//! # Ok::<(), rooflut_error::Error>(())
//! ```

mod left_out;
mod parameters;
mod problem;
mod servers;
mod solve;

pub use left_out::{Intervals, left_out, left_out_csv};
pub use parameters::{CHOICES, Choice, Engines, PARAMETERS, Parameter};
pub use problem::Problem;
pub use servers::left_out_servers_csv;
pub use solve::{Estimate, Fit, fit, one_step_from_files};
