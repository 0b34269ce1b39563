//! The `rooflut` command as a library, for programs that offer the same command or need its answers.
//!
//! This crate parses arguments, reads and writes files, and lays out text; the libraries compute every
//! number.

mod args;
mod check;
mod command;
mod command_line;
mod compare;
mod engines;
mod error;
mod fields;
mod fits;
mod flagged;
mod generate;
mod grid;
mod host;
mod import;
mod input;
mod limited_by;
mod lookup;
mod lookup_output;
mod model_source;
mod models;
mod output;
mod output_file;
mod outputs;
mod plan;
mod plot;
mod prepared;
mod prices;
mod progress;
mod resources;
mod run;
mod saturate;
#[cfg(feature = "schema")]
mod schemas;
mod score;
mod score_json;
mod score_output;
mod step;
mod sweep;
mod table_set;
mod tables;
mod tallied;
mod temporary;
mod validate;
mod value;
mod version;

pub use command::{answer, main_with};
pub use error::Error;
pub use input::{open, read};
pub use prepared::PreparedRun;
#[cfg(feature = "schema")]
pub use schemas::schemas;
