//! All that was measured of a server.

use std::collections::BTreeMap;
use std::path::Path;

use rooflut_error::Error;
use rooflut_scenario::Scenario;
use rooflut_traces::Measurement;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contents::{self, Contents};
use crate::deployment::Deployment;
use crate::json::contents as refused;
use crate::run::Run;
use crate::steps::Step;
use crate::{merge, notes};

/// A file to read.
#[derive(Debug, Clone, Copy)]
pub struct File<'f> {
    /// Its path, by which messages and sources name it.
    pub name: &'f str,
    /// Its bytes; gzip and zstd are decompressed.
    pub bytes: &'f [u8],
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReadFile {
    /// Its path.
    pub file: String,
    /// What it is.
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

impl Measured {
    /// Reads the files of one server. `given` are keys of a scenario that the files do not tell, or that replace theirs.
    ///
    /// # Errors
    /// A file that is of no known kind, cut off or not as its kind is, and files of several servers.
    pub fn read(files: &[File<'_>], given: &Scenario) -> Result<Measured, Error> {
        let mut measured = Measured::default();
        let mut scrapes = Vec::new();
        let mut read = Vec::new();
        for file in files {
            let (kind, found) = contents::read(file.bytes).map_err(|error| error.in_file(Path::new(file.name)))?;
            read.push((file.name, kind, found));
        }
        merge::check_models(&read)?;
        let mut deployment = Deployment::default();
        for (name, kind, found) in read {
            let Contents { version, runs, facts, arguments, scrape, steps, notes: remarks, .. } = found;
            measured.notes.extend(remarks.into_iter().map(|note| format!("{name}: {note}")));
            if kind == Measurement::VllmLog {
                deployment.version(name, version.as_deref())?;
            }
            deployment.arguments.extend(arguments.into_iter().map(|words| (words, name.to_owned())));
            for (key, value) in facts {
                measured.add_fact(name, key, value)?;
            }
            measured.runs.extend(runs.into_iter().map(|run| of_file(run, name)));
            scrapes.extend(scrape.map(|scrape| (name, scrape)));
            measured.steps.extend(steps);
            measured.files.push(ReadFile { file: name.to_owned(), kind: kind.title().to_owned(), version });
        }
        let runs = std::mem::take(&mut measured.runs);
        measured.runs = merge::joined(runs, &mut measured.notes);
        merge::check_urls(&measured.runs)?;
        (measured.metric_files, measured.metrics) = merge::metrics(scrapes)?;
        deployment.settle(&mut measured, given)?;
        notes::add(&mut measured);
        if measured.runs.is_empty()
            && measured.metrics.is_empty()
            && measured.steps.is_empty()
            && measured.facts.is_empty()
        {
            return Err(refused("expected figures or facts of a server, found none; add the result of a benchmark"));
        }
        Ok(measured)
    }

    /// Notes a fact; one that another file contradicts is of another server.
    fn add_fact(&mut self, file: &str, key: &str, value: Value) -> Result<(), Error> {
        match self.facts.get(key) {
            Some(known) if known.value != value => Err(refused(format!(
                "{key}: {} has {}, {file} has {value}, so these are two servers; give the files of one",
                known.source, known.value
            ))),
            Some(_) => Ok(()),
            None => {
                self.facts.insert(key.to_owned(), Fact { value, source: file.to_owned() });
                Ok(())
            }
        }
    }
}

/// Names the file of a run.
fn of_file(mut run: Run, name: &str) -> Run {
    run.name_sources(name);
    run.trace = run.trace.map(|_| name.to_owned());
    run
}
