//! Answers that the tables do not have, or not as certain as asked for.

use std::fmt;

use rooflut::ResolveError;
use rooflut::step::ModelError;
use rooflut::table::{Strictness, TooUncertain};

/// Why a table set cannot answer for a model, and what would help.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The model, with the weights that were asked for.
    pub model: String,
    /// Why.
    pub error: ModelError,
    /// The built-in sets that can.
    pub other_sets: Vec<&'static str>,
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

/// Returns the flag of `rooflut` that accepts an answer: `--strict smoothed`.
pub fn strict_flag(error: &TooUncertain) -> String {
    match error.wider() {
        Strictness::ANY => "without --strict".to_owned(),
        wider => format!("--strict {wider}"),
    }
}

/// Joins names: `a`, `a or b`, `a, b or c`.
pub(crate) fn either<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_as_one_says_them() {
        assert_eq!(either(&["a"]), "a");
        assert_eq!(either(&["a", "b"]), "a or b");
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
    }
}
