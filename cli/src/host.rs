//! The program that runs a command.

use std::io::Write;

use rooflut_scenario::Stop;

/// Inputs and outputs of a command beside its arguments.
pub struct Host<'h> {
    /// Receives the rows of a sweep, because a sweep has too many rows to keep.
    pub stdout: &'h mut (dyn Write + Send),
    /// Whether standard error shows how far a search, a sweep or a validation is.
    pub shows_progress: bool,
    /// Ends searches and sweeps early.
    pub stop: Stop,
    /// The command line as a shell reads it.
    pub command: String,
}
