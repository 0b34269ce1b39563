//! The setting that holds requests back, as text.

use rooflut_plan::{LimitedBy, Setting};

use crate::output::{count, percent};

/// Describes a setting, and what raising it gains; `answer` is the answer with the raised value.
pub(crate) fn describe(limited: &LimitedBy, answer: Option<String>) -> String {
    let flag = match limited.setting {
        Setting::MaxNumSeqs => "--max-num-seqs",
        Setting::MaxNumBatchedTokens => "--max-num-batched-tokens",
        _ => "the KV cache",
    };
    let value = limited.value.map(|value| format!(" {}", count(value.into())));
    let share = percent(100.0 * limited.share);
    let held = format!("{flag}{}, which holds requests back during {share} of the time", value.unwrap_or_default());
    match limited.raised_to {
        Some(raised) => {
            let answer = answer.unwrap_or_else(|| "none meets the limits".to_owned());
            format!("{held}; with {}: {answer}", count(raised.into()))
        }
        None => held,
    }
}
