//! Answers that the tables do not have, or not as certain as asked for.

use rooflut::ResolveError;
use rooflut::hardware::OperationKind;
use rooflut::step::ModelError;
use rooflut::table::{Strictness, TooUncertain};
use rooflut_error::either;

use crate::error::KeyName;

/// Why a table set cannot answer for a model, and what would help.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Refusal {
    /// The model, with the requested weights.
    pub model: String,
    /// Why.
    pub error: ModelError,
    /// The built-in sets that can.
    pub other_sets: Vec<&'static str>,
}

impl Refusal {
    /// Returns the message, with keys as `name` writes them.
    pub(crate) fn message(&self, name: KeyName) -> String {
        let Refusal { model, error, other_sets } = self;
        if let ModelError::Kernel { error: ResolveError::TooManyRanks { set, operation, ranks, most }, .. } = error {
            let (key, collective) = if *operation == OperationKind::AllReduce.name() {
                ("tp", "an all-reduce")
            } else {
                ("dp", "an all-gather")
            };
            return format!(
                "{model}: {}: expected at most {most} ranks, the most over which table set {} has {collective}, \
                 found {ranks}; use {}{}",
                name(key, None),
                set.name(),
                name(key, Some(&most.to_string())),
                if other_sets.is_empty() {
                    String::new()
                } else {
                    " or ".to_owned() + &name("gpu", Some(&either(other_sets)))
                }
            );
        }
        let accept = match error {
            ModelError::TooUncertain { error, .. } => format!(" ({})", accepting(error, name)),
            _ => String::new(),
        };
        let advice = match (other_sets.is_empty(), error) {
            (false, _) => self.link().to_owned() + &name("gpu", Some(&either(other_sets))),
            // Its advice holds without another set.
            (true, ModelError::TooUncertain { .. }) => String::new(),
            (true, _) => "; no compiled-in set can answer for this model".to_owned(),
        };
        format!("{model}: {error}{accept}{advice}")
    }

    /// The keys that the refusal is about.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        match &self.error {
            ModelError::Kernel { error, .. } => match error {
                ResolveError::TooManyRanks { .. } => vec!["tp", "dp"],
                ResolveError::NoAttentionDtype { .. } => vec!["kv_dtype", "gpu", "tables"],
                _ => vec!["dtype", "gpu", "tables", "model"],
            },
            ModelError::TooUncertain { .. } => vec!["strict"],
            _ => vec!["model"],
        }
    }

    /// The words between the error, which may end with an advice, and the sets that can answer.
    fn link(&self) -> &'static str {
        match self.error {
            ModelError::TooUncertain { .. } | ModelError::Kernel { error: ResolveError::NoPeak { .. }, .. } => {
                " or use "
            }
            _ => ": ",
        }
    }
}

/// Returns the value of the key `strict` that accepts an answer: `strict = smoothed`, with the key as `name` writes it.
pub fn accepting(error: &TooUncertain, name: KeyName) -> String {
    match error.wider() {
        Strictness::ANY => format!("without {}", name("strict", None)),
        wider => name("strict", Some(&wider.to_string())),
    }
}
