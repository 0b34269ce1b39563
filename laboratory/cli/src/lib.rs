//! The `rooflut-lab` command as a library, for programs that offer the same command or need its answers.
//!
//! It is for those who make or judge tables: importers of published tables, suspicious rows, drawings, errors on rows
//! that are left out, predictions beside measured servers. `rooflut` has what only uses the tables.

mod args;
mod check;
mod command;
mod coverage;
mod errors;
mod fit;
mod import;
mod picture;
mod plot;
mod score;
mod score_json;
mod score_output;
mod step;
mod table_set;
mod tables;
mod tallied;
mod validate;

pub use command::{answer, main_with};
pub use rooflut_cli::Error;

use rooflut_cli::{error, grid, input, output, output_file, outputs, progress, temporary, value};
