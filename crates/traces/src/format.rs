//! The formats of traces.

use std::fmt;
use std::str::FromStr;

/// A format that traces are published in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// rooflut's own CSV: `arrival_ms` (from the start of the simulation), `prompt_tokens`,
    /// `output_tokens`.
    ///
    /// Optional columns: `cached_prompt_tokens`; `priority`, smaller first; `prefix_id` with
    /// `prefix_tokens`, the text that the prompt begins with and its length (an empty id: none);
    /// `session_id`, whose requests continue each other. Ids are any text. A column `experiment`
    /// with several values needs a condition that selects one.
    Own,
    /// The Azure LLM inference traces of 2023 and 2024: CSV with `TIMESTAMP` (taken as UTC where it has
    /// no offset), `ContextTokens`, `GeneratedTokens`.
    Azure,
    /// BurstGPT: CSV with `Timestamp` (seconds), `Request tokens`, `Response tokens`; failures, which
    /// have 0 response tokens, are left out.
    BurstGpt,
    /// Mooncake: a JSON object per line with `timestamp` (ms), `input_length`, `output_length` and, if
    /// there are any, `hash_ids` of blocks of 512 tokens.
    Mooncake,
    /// The result of `vllm bench serve --save-result --save-detailed`: one JSON object with the lists
    /// `input_lens`, `output_lens` and, from newer versions, `start_times` (seconds).
    ///
    /// Without `start_times` the arrivals follow `request_rate` (`burstiness` 1, no ramp-up): a Poisson
    /// process, or all at once where it is `inf` and `max_concurrency` is not set. At a finite rate,
    /// `max_concurrency` is assumed to have held nothing back. Requests without output failed and are left
    /// out.
    Vllm,
    /// The per-request report of inference-perf: a JSON list, or an object per line, with `start_time`
    /// (seconds), the token counts, and `error`; requests with an error are left out.
    ///
    /// Prompt tokens are `info.request_metrics.text.input_tokens`, `info.input_tokens` or
    /// `computed_metrics.input_tokens`, the first that is present; output tokens
    /// `info.response_metrics.output_tokens`, `info.output_tokens` or `computed_metrics.output_tokens`.
    InferencePerf,
}

impl Format {
    /// All formats, rooflut's own first.
    pub const ALL: [Format; 6] = [
        Format::Own,
        Format::Azure,
        Format::BurstGpt,
        Format::Mooncake,
        Format::Vllm,
        Format::InferencePerf,
    ];

    /// Returns the name that `FromStr` reads.
    pub fn name(self) -> &'static str {
        match self {
            Format::Own => "rooflut",
            Format::Azure => "azure",
            Format::BurstGpt => "burstgpt",
            Format::Mooncake => "mooncake",
            Format::Vllm => "vllm",
            Format::InferencePerf => "inference-perf",
        }
    }

    /// Returns a title for people.
    pub fn title(self) -> &'static str {
        match self {
            Format::Own => "rooflut CSV",
            Format::Azure => "Azure LLM inference trace",
            Format::BurstGpt => "BurstGPT trace",
            Format::Mooncake => "Mooncake trace",
            Format::Vllm => "vLLM benchmark result",
            Format::InferencePerf => "inference-perf report",
        }
    }

    /// Returns whether the format is CSV; the others are JSON.
    pub fn is_csv(self) -> bool {
        matches!(self, Format::Own | Format::Azure | Format::BurstGpt)
    }

    /// Returns the required columns or keys.
    pub(crate) fn required(self) -> &'static [&'static str] {
        match self {
            Format::Own => &["arrival_ms", "prompt_tokens", "output_tokens"],
            Format::Azure => &["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
            Format::BurstGpt => &["Timestamp", "Request tokens", "Response tokens"],
            Format::Mooncake => &["timestamp", "input_length", "output_length"],
            Format::Vllm => &["input_lens", "output_lens"],
            Format::InferencePerf => &["start_time", "info"],
        }
    }

    /// Returns other columns or keys that identify the format, or that a message must not suggest to rename.
    pub(crate) fn others(self) -> &'static [&'static str] {
        match self {
            Format::Own => &[
                "cached_prompt_tokens",
                "experiment",
                "priority",
                "prefix_id",
                "prefix_tokens",
                "session_id",
            ],
            Format::Azure => &[],
            Format::BurstGpt => &["Model", "Total tokens", "Log Type"],
            Format::Mooncake => &["hash_ids"],
            // The first two are in results without details, too.
            Format::Vllm => &["request_throughput", "total_input_tokens", "start_times"],
            // The last two are keys of a summary.
            Format::InferencePerf => &["computed_metrics", "load_summary", "successes"],
        }
    }

    /// Returns the columns or keys as messages list them.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Format::Own => "arrival_ms, prompt_tokens, output_tokens[, cached_prompt_tokens]",
            Format::Azure => "TIMESTAMP, ContextTokens, GeneratedTokens",
            Format::BurstGpt => "Timestamp, Request tokens, Response tokens",
            Format::Mooncake => "timestamp, input_length, output_length[, hash_ids]",
            Format::Vllm => "input_lens, output_lens[, start_times]",
            Format::InferencePerf => "start_time, info, error",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or(UnknownFormat)
    }
}

/// No format has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownFormat;

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Format::ALL.map(Format::name).join(", ");
        write!(f, "expected one of {names}")
    }
}

impl std::error::Error for UnknownFormat {}
