//! Errors of the library as those of scenarios.

use std::fmt::Display;
use std::path::Path;

use rooflut::ResolveError;
use rooflut::deployment::DeploymentError;
use rooflut::hardware::OperationKind;
use rooflut::model::{MemoryError, SpecError};
use rooflut::sim::SimError;
use rooflut::step::{ModelError, UncertainPart};
use rooflut::table::{Strictness, TooUncertain};
use rooflut_error::{Error, Kind, either, key, setting};
use rooflut_traces::TraceError;

use crate::file::known;
use crate::model::Model;

/// An error of the simulator.
pub(crate) fn simulator(error: impl Into<SimError>) -> Error {
    let error = error.into();
    let kind = match error {
        SimError::StepTime(_) => Kind::StepTime,
        _ => Kind::Value,
    };
    Error::new(kind, with_keys(&error))
}

/// An error of the division of memory.
pub(crate) fn memory(error: MemoryError) -> Error {
    Error::new(Kind::DoesNotFit, with_keys(&error))
}

/// An error of a deployment.
pub(crate) fn deployment(error: DeploymentError) -> Error {
    match error {
        DeploymentError::Memory(error) => memory(error),
        DeploymentError::Limits(error) => simulator(error),
        other => Error::new(Kind::NotModelled, with_keys(&other)),
    }
}

/// Ranks that cannot share a model, and the values of `named`, `tp` or another degree, with which they can.
pub(crate) fn parallelism(model: &Model, error: SpecError, named: &'static str, possible: &[u32]) -> Error {
    let text = if let SpecError::IndependentRanks { dp } = error {
        let (ranks, replicas) = (setting("dp", dp), setting("replicas", dp));
        format!("{ranks}: the data-parallel ranks of {model} share nothing, as it has no experts; use {replicas}")
    } else {
        let possible: Vec<String> = possible.iter().map(u32::to_string).collect();
        format!("{model}: {error}; use {}", setting(named, either(&possible)))
    };
    Error::new(Kind::Parallelism, text).about([named])
}

/// A model for which the tables have no answer, and the built-in sets that have one.
pub(crate) fn refused(model: &Model, error: &ModelError, other_sets: &[&str]) -> Error {
    let others = setting("gpu", either(other_sets));
    if let ModelError::Kernel { error: ResolveError::TooManyRanks { set, operation, ranks, most }, .. } = error {
        let (named, collective) = if *operation == OperationKind::AllReduce.name() {
            ("tp", "an all-reduce")
        } else {
            ("dp", "an all-gather")
        };
        let text = format!(
            "{model}: {}: expected at most {most} ranks, the most over which table set {} has {collective}, found \
             {ranks}; use {}{}",
            key(named),
            set.name(),
            setting(named, most),
            if other_sets.is_empty() { String::new() } else { format!(" or {others}") }
        );
        return Error::new(Kind::NotMeasured, text).about(["tp", "dp"]);
    }
    let (kind, accept) = match error {
        ModelError::TooUncertain { error, .. } => (Kind::Uncertain, format!(" ({})", accepting(error))),
        _ => (Kind::NotMeasured, String::new()),
    };
    let advice = match (other_sets.is_empty(), error) {
        // The error ends with an advice.
        (false, ModelError::TooUncertain { .. } | ModelError::Kernel { error: ResolveError::NoPeak { .. }, .. }) => {
            format!(" or use {others}")
        }
        (false, _) => format!(": {others}"),
        // Its advice holds without another set.
        (true, ModelError::TooUncertain { .. }) => String::new(),
        (true, _) => "; no compiled-in set can answer for this model".to_owned(),
    };
    let keys: &[&str] = match error {
        ModelError::Kernel { error: ResolveError::NoAttentionDtype { .. }, .. } => &["kv_dtype", "gpu", "tables"],
        ModelError::Kernel { .. } => &["dtype", "gpu", "tables", "model"],
        ModelError::TooUncertain { .. } => &["strict"],
        _ => &["model"],
    };
    Error::new(kind, format!("{model}: {error}{accept}{advice}")).about(keys.iter().copied())
}

/// An answer of a table that is less certain than the key `strict` accepts.
pub fn uncertain(error: TooUncertain) -> Error {
    Error::new(Kind::Uncertain, format!("{error} ({})", accepting(&error)))
}

/// A part of a step that is less certain than the key `strict` accepts.
pub fn uncertain_part(error: UncertainPart) -> Error {
    Error::new(Kind::Uncertain, format!("{error} ({})", accepting(&error.error)))
}

/// Returns the value of the key `strict` that accepts an answer.
fn accepting(error: &TooUncertain) -> String {
    match error.wider() {
        Strictness::ANY => format!("without {}", key("strict")),
        wider => setting("strict", wider).to_string(),
    }
}

/// An error of the trace at `path`.
pub(crate) fn trace(path: &Path) -> impl Fn(TraceError) -> Error {
    |TraceError { line, problem }| {
        Error::new(Kind::Contents, problem.to_string()).at_line(line).in_file(path).about(["trace"])
    }
}

/// Returns a message of the library with its keys marked: the first word, and words that are not English, such as
/// `max_num_seqs` and `tp`.
fn with_keys(message: &impl Display) -> String {
    let separates = |next: char| !next.is_ascii_alphanumeric() && next != '_';
    let message = message.to_string();
    let words = message.split_inclusive(separates).enumerate().map(|(index, text)| {
        let word = text.trim_end_matches(separates);
        let is_english = index > 0 && !word.contains('_') && word.len() > 2;
        match known(word).filter(|_| !is_english) {
            Some(known) => text.replacen(known, &key(known).to_string(), 1),
            None => text.to_owned(),
        }
    });
    words.collect()
}
