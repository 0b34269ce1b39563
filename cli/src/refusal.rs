//! Why there is no step model of a model on a table set, and what would help.

use std::fmt;

use rooflut::ResolveError;
use rooflut::step::ModelError;

use crate::error::{either, strict_flag};

/// A set that cannot answer for a model.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The model, with the weights that were asked for.
    pub(crate) model: String,
    /// Why.
    pub(crate) error: ModelError,
    /// The sets that can.
    pub(crate) other_sets: Vec<&'static str>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.model)?;
        self.write_cause(f)?;
        match (self.other_sets.is_empty(), &self.error) {
            (false, _) => write!(f, "{}--gpu {}", self.link(), either(&self.other_sets)),
            // Its advice holds without another set.
            (true, ModelError::TooUncertain { .. }) => Ok(()),
            (true, _) => f.write_str("; no compiled-in set can answer for this model"),
        }
    }
}

impl Refusal {
    /// The error, in the words of the command line.
    fn write_cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            ModelError::TooUncertain { error, .. } => {
                write!(f, "{} ({})", self.error, strict_flag(error))
            }
            error => write!(f, "{error}"),
        }
    }

    /// What stands between the error, which ends with an advice, and the sets that can answer.
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
