//! Answers that the tables do not have, or not as certain as `--strict` accepts.

use std::fmt;

use rooflut::ResolveError;
use rooflut::step::{ModelError, UncertainPart};
use rooflut::table::{Strictness, TooUncertain};

use crate::error::Error;
use crate::output::either;

/// Why a table set cannot answer for a model.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The model, with the format of its weights if that is given.
    pub(crate) model: String,
    pub(crate) error: ModelError,
    /// The built-in sets that can answer.
    pub(crate) other_sets: Vec<&'static str>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.model)?;
        match &self.error {
            ModelError::TooUncertain { error, .. } => {
                write!(f, "{} ({})", self.error, strict_flag(error))?;
            }
            error => error.fmt(f)?,
        }
        match (self.other_sets.is_empty(), &self.error) {
            (false, _) => write!(f, "{}--gpu {}", self.link(), either(&self.other_sets)),
            // Its advice holds without another set.
            (true, ModelError::TooUncertain { .. }) => Ok(()),
            (true, _) => f.write_str("; no compiled-in set can answer for this model"),
        }
    }
}

impl Refusal {
    /// The words between the error, which may end with an advice, and the sets that can answer.
    fn link(&self) -> &'static str {
        match self.error {
            ModelError::TooUncertain { .. }
            | ModelError::Kernel {
                error: ResolveError::NoPeak { .. },
                ..
            } => " or use ",
            _ => ": ",
        }
    }
}

impl std::error::Error for Refusal {}

/// An answer that is less certain than `--strict` accepts.
pub(crate) fn uncertain(error: TooUncertain) -> Error {
    Error::new(format!("{error} ({})", strict_flag(&error)))
}

/// A part of a step that is less certain than `--strict` accepts.
pub(crate) fn uncertain_part(error: UncertainPart) -> Error {
    Error::new(format!("{error} ({})", strict_flag(&error.error)))
}

/// Returns the flag that accepts the answer.
fn strict_flag(error: &TooUncertain) -> String {
    match error.wider() {
        Strictness::ANY => "without --strict".to_owned(),
        wider => format!("--strict {wider}"),
    }
}
