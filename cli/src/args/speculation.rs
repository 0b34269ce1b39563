//! Arguments of `rooflut run`: speculative decoding.

use std::str::FromStr;

use clap::Args;

use crate::value;

/// Speculative decoding.
#[derive(Args)]
#[command(next_help_heading = "Speculative decoding")]
pub(crate) struct SpeculationArgs {
    /// Tokens that the draft model proposes at a time, and the next step verifies.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) draft_tokens: Option<u32>,
    /// Acceptance rate: share of the drafted tokens that are accepted, of those whose predecessors are.
    #[arg(long, value_name = "SHARE", value_parser = value::share)]
    pub(crate) acceptance: Option<f64>,
    /// Model that proposes them, as for --model, with its own weights; ngram for look-up in the prompt, which
    /// takes no time.
    #[arg(long, value_name = "MODEL")]
    pub(crate) draft_model: Option<DraftModel>,
}

/// Who proposes tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DraftModel {
    /// A model, by its name.
    Named(String),
    /// A look-up in the prompt.
    Ngram,
}

impl FromStr for DraftModel {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<DraftModel, Self::Err> {
        // vLLM writes it in brackets.
        Ok(
            match text.trim_matches(['[', ']']).to_ascii_lowercase().as_str() {
                "ngram" => DraftModel::Ngram,
                _ => DraftModel::Named(text.to_owned()),
            },
        )
    }
}
