//! Files of decode steps.
#![allow(dead_code, reason = "each test crate uses a part")]
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use rooflut_validation::{FileReport, Predictor, Tally, read, validate};

pub(crate) const HEADER: &str = "experiment,gpu,model,tp,engine,decode_requests,mean_context_tokens,step_ms";
pub(crate) const ROW: &str = "d,h100,llama-3.1-8b,1,vllm-0.15.1,48,700,8";

pub(crate) fn file(rows: &[&str]) -> String {
    format!("{HEADER}\n{}\n", rows.join("\n"))
}

pub(crate) fn report(text: &str) -> FileReport {
    validate(&read("f.csv", text).unwrap(), &Predictor::default())
}

/// The texts and rows of tallies.
pub(crate) fn tallies(tallies: &[Tally]) -> Vec<(&str, usize)> {
    tallies.iter().map(|t| (t.text.as_str(), t.rows())).collect()
}
