//! The `rooflut` command as a library, for programs that offer the same command or need its answers.
//!
//! This crate parses arguments, reads and writes files, and lays out text; the libraries compute every
//! number. Hidden modules are those that `rooflut-lab` shares; they are no stable interface.

mod args;
mod calibrate;
mod command;
mod command_line;
mod compare;
mod compared;
mod deferred;
mod destination;
mod engines;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
mod fits;
mod flagged;
#[doc(hidden)]
pub mod generate;
#[doc(hidden)]
pub mod grid;
#[doc(hidden)]
pub mod host;
#[doc(hidden)]
pub mod html;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod leading;
mod limited_by;
mod loads;
mod lookup;
mod lookup_output;
#[doc(hidden)]
pub mod measured;
mod model_source;
mod models;
mod next;
mod observe;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod output_file;
#[doc(hidden)]
pub mod outputs;
#[doc(hidden)]
pub mod parser;
mod plan;
mod prepared;
mod prices;
#[doc(hidden)]
pub mod program;
#[doc(hidden)]
pub mod progress;
mod report;
mod resources;
mod run;
mod saturate;
#[cfg(feature = "schema")]
mod schemas;
#[doc(hidden)]
pub mod step;
mod sweep;
#[doc(hidden)]
pub mod table_set;
mod tables;
#[doc(hidden)]
pub mod temporary;
mod unknown;
mod untrusted;
#[doc(hidden)]
pub mod value;
#[doc(hidden)]
pub mod version;
#[doc(hidden)]
pub mod vllm;
mod watch;

pub use command::{answer, main_with};
pub use error::Error;
pub use input::{open, read};
pub use prepared::PreparedRun;
pub use rooflut_error::Whole;
#[cfg(feature = "schema")]
pub use schemas::schemas;
pub use sweep::{SweepUnits, UnitRows, UnitsOut, sweep_csv};
pub use untrusted::check_untrusted;
