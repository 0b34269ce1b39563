//! The formats of traces.

use std::fmt;
use std::str::FromStr;

use rooflut_error::{Error, Kind};

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
    /// The Azure LLM inference traces of 2023 to 2025: CSV with `TIMESTAMP` (taken as UTC without an offset),
    /// `ContextTokens`, `GeneratedTokens` and, in the multi-modal one, `NumImages`.
    Azure,
    /// BurstGPT: CSV with `Timestamp` (seconds), `Request tokens`, `Response tokens`; failures, marked by 0 response
    /// tokens, are left out.
    BurstGpt,
    /// Vidur's processed traces: CSV with `arrived_at` (seconds), `num_prefill_tokens`,
    /// `num_decode_tokens`.
    Vidur,
    /// Traces of the Splitwise simulator: CSV with `arrival_timestamp` (seconds), `prompt_size`,
    /// `token_size`, and a `batch_size` of 1 if there is any.
    Splitwise,
    /// Mooncake: a JSON object per line with `timestamp` (ms), `input_length`, `output_length` and, if
    /// there are any, `hash_ids` of blocks of 512 tokens.
    ///
    /// In AIPerf's dialect, a request may have a `session_id` and, in place of `timestamp`, a `delay` (ms). The delay
    /// counts from the end of the request before in the session, or from the start for the first request of a session.
    /// Assumes: `input_length` counts the whole prompt, with the turns before.
    Mooncake,
    /// Qwen-Bailian's anonymised usage traces: as Mooncake's, with `timestamp` in seconds, blocks of 16
    /// tokens, and `chat_id`, `parent_chat_id`, `turn`, `type`, which are not read.
    QwenBailian,
    /// The result of `vllm bench serve --save-result --save-detailed`, or of SGLang's `bench_serving
    /// --output-details`: one JSON object with the lists `input_lens`, `output_lens` and, from newer
    /// versions of vLLM, `start_times` (seconds).
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
    /// CSV whose columns [`Options::columns`](crate::Options::columns) names.
    Columns,
    /// JSON whose keys [`Options::columns`](crate::Options::columns) names: an object per request, one after another or
    /// in a list.
    Keys,
}

/// The columns or keys of a format, and its names.
struct Facts {
    name: &'static str,
    title: &'static str,
    is_csv: bool,
    /// Required columns or keys, the time of arrival first where there is one.
    required: &'static [&'static str],
    /// Columns or keys that are read where they are present.
    optional: &'static [&'static str],
    /// Other columns or keys of the format, which are not read.
    others: &'static [&'static str],
    /// The columns or keys as messages list them.
    expected: &'static str,
    /// The unit of the time of arrival, as a message says what the time is.
    time: &'static str,
}

impl Format {
    /// The formats that have columns or keys of their own, rooflut's first.
    pub const ALL: [Format; 9] = [
        Format::Own,
        Format::Azure,
        Format::BurstGpt,
        Format::Vidur,
        Format::Splitwise,
        Format::Mooncake,
        Format::QwenBailian,
        Format::Vllm,
        Format::InferencePerf,
    ];

    fn facts(self) -> &'static Facts {
        match self {
            Format::Own => &Facts {
                name: "rooflut",
                title: "rooflut CSV",
                is_csv: true,
                required: &["arrival_ms", "prompt_tokens", "output_tokens"],
                optional: &[
                    "cached_prompt_tokens",
                    "experiment",
                    "priority",
                    "prefix_id",
                    "prefix_tokens",
                    "session_id",
                ],
                others: &[],
                expected: "arrival_ms, prompt_tokens, output_tokens[, cached_prompt_tokens]",
                time: "in milliseconds",
            },
            Format::Azure => &Facts {
                name: "azure",
                title: "Azure LLM inference trace",
                is_csv: true,
                required: &["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
                optional: &["NumImages"],
                others: &[],
                expected: "TIMESTAMP, ContextTokens, GeneratedTokens",
                time: "a date and time",
            },
            Format::BurstGpt => &Facts {
                name: "burstgpt",
                title: "BurstGPT trace",
                is_csv: true,
                required: &["Timestamp", "Request tokens", "Response tokens"],
                optional: &[],
                others: &["Model", "Total tokens", "Log Type", "Session ID", "Elapsed time"],
                expected: "Timestamp, Request tokens, Response tokens",
                time: "in seconds",
            },
            Format::Vidur => &Facts {
                name: "vidur",
                title: "Vidur trace",
                is_csv: true,
                required: &["arrived_at", "num_prefill_tokens", "num_decode_tokens"],
                optional: &[],
                others: &["num_total_tokens", "pd_ratio"],
                expected: "arrived_at, num_prefill_tokens, num_decode_tokens",
                time: "in seconds",
            },
            Format::Splitwise => &Facts {
                name: "splitwise",
                title: "Splitwise trace",
                is_csv: true,
                required: &["arrival_timestamp", "prompt_size", "token_size"],
                optional: &["batch_size"],
                others: &["request_id", "request_type", "application_id"],
                expected: "arrival_timestamp, prompt_size, token_size",
                time: "in seconds",
            },
            Format::Mooncake => &Facts {
                name: "mooncake",
                title: "Mooncake trace",
                is_csv: false,
                required: &["timestamp", "input_length", "output_length"],
                optional: &["hash_ids", "session_id", "delay"],
                others: &[],
                expected: "timestamp, input_length, output_length[, hash_ids]",
                time: "in milliseconds",
            },
            Format::QwenBailian => &Facts {
                name: "qwen-bailian",
                title: "Qwen-Bailian trace",
                is_csv: false,
                required: &["timestamp", "input_length", "output_length"],
                optional: &["hash_ids"],
                others: &["chat_id", "parent_chat_id", "turn", "type"],
                expected: "timestamp, input_length, output_length, chat_id[, hash_ids]",
                time: "in seconds",
            },
            Format::Vllm => &Facts {
                name: "vllm",
                title: "vLLM or SGLang benchmark result",
                is_csv: false,
                required: &["input_lens", "output_lens"],
                optional: &["start_times"],
                // Results without details have these, too.
                others: &["request_throughput", "total_input_tokens"],
                expected: "input_lens, output_lens[, start_times]",
                time: "in seconds",
            },
            Format::InferencePerf => &Facts {
                name: "inference-perf",
                title: "inference-perf report",
                is_csv: false,
                required: &["start_time", "info"],
                optional: &[],
                // The last two are keys of a summary.
                others: &["computed_metrics", "load_summary", "successes"],
                expected: "start_time, info, error",
                time: "in seconds",
            },
            Format::Columns => &Facts {
                name: "columns",
                title: "CSV",
                is_csv: true,
                required: &[],
                optional: &[],
                others: &[],
                expected: "the named columns",
                time: "",
            },
            Format::Keys => &Facts {
                name: "keys",
                title: "JSON",
                is_csv: false,
                required: &[],
                optional: &[],
                others: &[],
                expected: "the named keys",
                time: "",
            },
        }
    }

    /// Returns the name that `FromStr` reads if the format has columns or keys of its own.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns a title for people.
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// Returns whether the format is CSV; the others are JSON.
    pub fn is_csv(self) -> bool {
        self.facts().is_csv
    }

    /// Returns what its files name values by.
    pub(crate) fn part(self) -> &'static str {
        if self.is_csv() { "column" } else { "key" }
    }

    /// Returns all columns or keys of the format.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let facts = self.facts();
        let names = facts.required.iter().chain(facts.optional);
        names.chain(facts.others).copied()
    }

    /// Returns the columns or keys that a file must have, the time of arrival first where there is one.
    pub(crate) fn required(self) -> &'static [&'static str] {
        self.facts().required
    }

    /// Returns the columns or keys that are read where they are present.
    pub(crate) fn optional(self) -> &'static [&'static str] {
        self.facts().optional
    }

    /// Returns the columns or keys as messages list them.
    pub(crate) fn expected(self) -> &'static str {
        self.facts().expected
    }

    /// Returns what the column or key `name` is, if it is a time of arrival.
    pub(crate) fn time(self, name: &str) -> Option<&'static str> {
        let facts = self.facts();
        (facts.required.first() == Some(&name)).then_some(facts.time)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format, Error> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        let names = || Format::ALL.map(Format::name).join(", ");
        found.ok_or_else(|| Error::new(Kind::UnknownName, format!("expected one of {}", names())))
    }
}
