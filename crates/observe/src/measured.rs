//! All that was measured of a server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::Run;
use crate::step::Step;

/// Source of keys that were given.
pub(crate) const GIVEN: &str = "command line";

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReadFile {
    /// Its path.
    pub file: String,
    /// Its kind.
    pub kind: String,
    /// The version of the client or server that wrote it.
    pub version: Option<String>,
}

/// A value, and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Fact {
    /// The value.
    pub value: Value,
    /// Its file, or `command line`.
    pub source: String,
}

impl Fact {
    /// Whether it was given, and no file tells it.
    pub fn is_given(&self) -> bool {
        self.source == GIVEN
    }
}

/// All that files tell of one server: its deployment, the loads that it served, and the figures that were measured.
///
/// ```
/// use rooflut_observe::{File, Measured};
/// use rooflut_scenario::ScenarioFile;
/// let result = br#"{"tokenizer_id": "m", "model_id": "meta-llama/Llama-3.1-8B-Instruct", "num_prompts": 80,
///     "request_rate": "inf", "max_concurrency": 8, "completed": 80, "duration": 20.5, "request_throughput": 3.9,
///     "total_input_tokens": 40960, "total_output_tokens": 20480, "mean_ttft_ms": 31.0, "mean_tpot_ms": 7.6}"#;
/// let given = ScenarioFile::read(b"gpu = 'h100'\n")?;
/// let measured = Measured::read(&[File { name: "result.json", bytes: result }], given.scenario())?;
/// assert_eq!(measured.runs[0].ttft_ms.mean, Some(31.0));
/// let scenario = measured.scenario(0)?;
/// assert_eq!((scenario.workload.users, scenario.workload.requests), (Some(8), Some(80)));
/// # Ok::<(), rooflut_scenario::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Measured {
    /// The files.
    pub files: Vec<ReadFile>,
    /// Keys of a scenario that describe the server, or were given.
    pub deployment: BTreeMap<String, Fact>,
    /// Loads that a client sent, with its figures.
    pub runs: Vec<Run>,
    /// Other facts about the server.
    pub facts: BTreeMap<String, Fact>,
    /// Figures of the server's own metrics, between the first scrape and the last, or since its start.
    pub metrics: BTreeMap<String, f64>,
    /// The files of these metrics.
    pub metric_files: Vec<String>,
    /// Steps of the engine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Remarks: contradictions, and what the figures do not show.
    pub notes: Vec<String>,
    /// Keys of a scenario that no file tells and that have no default to rely on.
    pub missing: Vec<String>,
}
