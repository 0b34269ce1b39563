//! The contents of one file.

use serde_json::Value;

use crate::run::Run;
use crate::scrape::Scrape;
use crate::step::Step;

/// The contents of one file.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The version of the client or server that wrote it.
    pub(crate) version: Option<String>,
    /// Loads with their figures.
    pub(crate) runs: Vec<Run>,
    /// Names of the model, of which another file may have any.
    pub(crate) models: Vec<String>,
    /// Facts about the server.
    pub(crate) facts: Vec<(&'static str, Value)>,
    /// The arguments of the server, as words after `vllm serve`.
    pub(crate) arguments: Vec<Vec<String>>,
    /// Counters of the server.
    pub(crate) scrape: Option<Scrape>,
    /// Steps of the engine.
    pub(crate) steps: Vec<Step>,
    /// Remarks.
    pub(crate) notes: Vec<String>,
}

impl Contents {
    /// Returns the contents of a file about one load.
    pub(crate) fn of_run(run: Run) -> Contents {
        Contents { version: run.client_version.clone(), runs: vec![run], ..Contents::default() }
    }
}
