//! The formats.

/// A format that traces are published in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// rooflut's own CSV: `arrival_ms` (from the start of the simulation), `prompt_tokens`,
    /// `output_tokens`.
    ///
    /// Optional columns: `cached_prompt_tokens`; `priority`, smaller first; `prefix_id` with
    /// `prefix_tokens`, the text that the prompt begins with and its length (an empty id: none);
    /// `session_id`, the requests of which continue each other. Ids are any text. A column `experiment`
    /// with several values needs a condition that picks one.
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
    /// process, or all at once where it is `inf` and `max_concurrency` is not set. What was waiting
    /// behind `max_concurrency` at a finite rate is not known and taken to be nothing. Requests without
    /// output failed and are left out.
    Vllm,
    /// The per-request report of inference-perf: a JSON list, or an object per line, with `start_time`
    /// (seconds), the tokens, and `error`; those with an error are left out.
    ///
    /// Prompt tokens are `info.request_metrics.text.input_tokens`, `info.input_tokens` or
    /// `computed_metrics.input_tokens`, the first that there is; output tokens
    /// `info.response_metrics.output_tokens`, `info.output_tokens` or `computed_metrics.output_tokens`.
    InferencePerf,
}

impl Format {
    /// All, the own one first.
    pub const ALL: [Format; 6] = [
        Format::Own,
        Format::Azure,
        Format::BurstGpt,
        Format::Mooncake,
        Format::Vllm,
        Format::InferencePerf,
    ];

    /// The name that picks it.
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

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// What it is, in a few words.
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

    /// Whether it is CSV; the others are JSON.
    pub fn is_csv(self) -> bool {
        matches!(self, Format::Own | Format::Azure | Format::BurstGpt)
    }

    /// The columns or keys that it cannot do without.
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

    /// Other columns or keys by which it is recognised, or which are not to be renamed.
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
            // Of a result without details, too.
            Format::Vllm => &["request_throughput", "total_input_tokens", "start_times"],
            // Of a summary, too.
            Format::InferencePerf => &["computed_metrics", "load_summary", "successes"],
        }
    }

    /// What a message asks for.
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
