//! Errors of the library as those of scenarios.

use std::fmt::Write;
use std::path::Path;

use rooflut::hardware::OperationKind;
use rooflut::sim::StepTimeError;
use rooflut::step::UncertainPart;
use rooflut::table::{Strictness, TooUncertain};
use rooflut::{ErrorKind, Invalid, MessagePart, ResolveError};
use rooflut_error::{Error, Kind, either, key, setting};

use crate::file::known;
use crate::model::Model;

/// A setting that the library refuses, with the keys that its message names.
pub(crate) fn refused_setting(invalid: Invalid) -> Error {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = invalid.write(&mut |part| match part {
        MessagePart::Setting(name) => match known(name) {
            Some(name) => write!(text, "{}", key(name)),
            None => text.write_str(name),
        },
        part => write!(text, "{part}"),
    });
    Error::new(Kind::Value, text)
}

/// A step that the clock cannot hold.
pub(crate) fn step_time(error: StepTimeError) -> Error {
    Error::new(Kind::StepTime, error.to_string())
}

/// An error of a deployment without kernels.
pub(crate) fn deployment(error: rooflut::Error) -> Error {
    match error.kind() {
        ErrorKind::Invalid(error) => refused_setting(*error),
        _ => Error::new(Kind::DoesNotFit, error.to_string()).about(["tp"]),
    }
}

/// Ranks that cannot share a model, and the values of `named`, `tp` or another degree, with which they can.
pub(crate) fn parallelism(model: &Model, dp: u32, error: Invalid, named: &'static str, possible: &[u32]) -> Error {
    let text = if dp > 1 && model.spec.experts().is_none() {
        let (ranks, replicas) = (setting("dp", dp), setting("replicas", dp));
        format!("{ranks}: the data-parallel ranks of {model} share nothing, as it has no experts; use {replicas}")
    } else {
        let possible: Vec<String> = possible.iter().map(u32::to_string).collect();
        format!("{model}: {error}; use {}", setting(named, either(&possible)))
    };
    Error::new(Kind::Parallelism, text).about([named])
}

/// A model that cannot be built on a set, and the values of `named`, `gpu` or `base`, with which it can.
pub(crate) fn refused(model: &Model, error: &rooflut::Error, named: &str, other_sets: &[&str]) -> Error {
    let others = setting(named, either(other_sets));
    let or = |link: &str| if other_sets.is_empty() { String::new() } else { format!("{link}{others}") };
    let nothing =
        if other_sets.is_empty() && named == "gpu" { "; no compiled-in set can answer for this model" } else { "" };
    match error.kind() {
        ErrorKind::Kernel { error: ResolveError::TooManyRanks { set, operation, ranks, most }, .. } => {
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
                or(" or ")
            );
            Error::new(Kind::NotMeasured, text).about(["tp", "dp"])
        }
        ErrorKind::Kernel { error: reason, .. } => {
            let keys: &[&str] = match reason {
                ResolveError::NoAttentionDtype { .. } => &["kv_dtype", "gpu", "tables"],
                _ => &["dtype", "gpu", "tables", "model"],
            };
            // The message of this one ends with an advice.
            let link = if matches!(reason, ResolveError::NoPeak { .. }) { " or use " } else { ": " };
            let text = format!("{model}: {}{}{nothing}", error.kind(), or(link));
            Error::new(Kind::NotMeasured, text).about(keys.iter().copied())
        }
        ErrorKind::TooUncertain { error: reason, .. } => {
            let text = format!("{model}: {} ({}){}", error.kind(), accepting(reason), or(" or use "));
            Error::new(Kind::Uncertain, text).about(["strict"])
        }
        _ => Error::new(Kind::NotModelled, format!("{model}: {}{}{nothing}", error.kind(), or(": "))).about(["model"]),
    }
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
pub(crate) fn trace(path: &Path) -> impl Fn(Error) -> Error {
    |error| error.in_file(path).about(["trace"])
}
