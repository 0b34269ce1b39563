//! Files with figures that were measured, and not only requests.

use std::fmt;

/// A kind of file with measurements of a server, which a client or the server itself writes: `rooflut observe` reads
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Measurement {
    /// The result of `vllm bench serve --save-result`, which is a [trace](crate::Format::Vllm) with `--save-detailed`.
    VllmBench,
    /// A line of SGLang's `bench_serving --output-file`, which is a trace with `--output-details`.
    SglangBench,
    /// GuideLLM's `benchmarks.json`.
    GuideLlm,
    /// AIPerf's `profile_export_aiperf.json`.
    AiPerf,
    /// AIPerf's `profile_export.jsonl`.
    AiPerfRequests,
    /// GenAI-Perf's `profile_export_genai_perf.json`.
    GenAiPerf,
    /// A result of InferenceX, or a list of them.
    InferenceX,
    /// inference-perf's `summary_lifecycle_metrics.json` or `stage_0_lifecycle_metrics.json`.
    InferencePerf,
    /// inference-perf's `per_request_lifecycle_metrics.json`, which is a [trace](crate::Format::InferencePerf).
    InferencePerfRequests,
    /// A scrape of the metrics of vLLM or SGLang: Prometheus text.
    Metrics,
    /// The log of a vLLM server from its start on.
    VllmLog,
    /// A CSV of steps: `rooflut run --steps-out`, or `duration_ms`, `prefill_tokens`, `decode_requests` and others of its
    /// columns.
    Steps,
}

/// JSON by keys that all of a kind have, of the most particular kind first.
const KEYS: [(&[&str], Measurement); 9] = [
    (&["metadata", "metrics"], Measurement::AiPerfRequests),
    (&["benchmarks"], Measurement::GuideLlm),
    (&["aiperf_version"], Measurement::AiPerf),
    (&["request_throughput", "input_config"], Measurement::GenAiPerf),
    (&["request_throughput", "mean_e2e_latency_ms"], Measurement::SglangBench),
    (&["request_throughput", "tokenizer_id"], Measurement::VllmBench),
    (&["hw", "conc", "tput_per_gpu"], Measurement::InferenceX),
    (&["load_summary", "successes"], Measurement::InferencePerf),
    (&["start_time", "end_time", "info"], Measurement::InferencePerfRequests),
];

/// Columns of steps.
const OF_STEPS: [&str; 3] = ["duration_ms", "prefill_tokens", "decode_requests"];

/// Texts that a line of a server's log has.
const OF_LOGS: [&str; 4] =
    ["vLLM API server version ", "vLLM server version ", "Initializing a V1 LLM engine (v", "GPU KV cache size: "];

impl Measurement {
    /// Recognises JSON by the keys of its first object.
    pub(crate) fn of_keys(found: &[String]) -> Option<Measurement> {
        let mut known = KEYS.iter();
        known.find(|(keys, _)| has_all(found, keys)).map(|(_, kind)| *kind)
    }

    /// Recognises a CSV by its columns.
    pub(crate) fn of_columns(found: &[String]) -> Option<Measurement> {
        has_all(found, &OF_STEPS).then_some(Measurement::Steps)
    }

    /// Recognises other text by its lines.
    pub(crate) fn of_lines(text: &[u8]) -> Option<Measurement> {
        let mut lines = text.split(|byte| *byte == b'\n').map(String::from_utf8_lossy);
        let is_comment = text.starts_with(b"# HELP ") || text.starts_with(b"# TYPE ");
        let is_metric = |line: &str| ["vllm:", "sglang:"].iter().any(|prefix| line.starts_with(prefix));
        let is_logged = |line: &str| OF_LOGS.iter().any(|text| line.contains(text));
        lines.find_map(|line| match () {
            () if is_metric(&line) || is_comment && is_metric(line.get(7..).unwrap_or_default()) => {
                Some(Measurement::Metrics)
            }
            () if !is_comment && is_logged(&line) => Some(Measurement::VllmLog),
            () => None,
        })
    }

    /// Returns whether such a file may be a trace, too.
    pub(crate) fn may_be_trace(self) -> bool {
        use Measurement::{InferencePerf, InferencePerfRequests, SglangBench, VllmBench};
        matches!(self, VllmBench | SglangBench | InferencePerf | InferencePerfRequests)
    }

    /// Returns a title for people.
    pub fn title(self) -> &'static str {
        match self {
            Measurement::VllmBench => "result of vllm bench serve",
            Measurement::SglangBench => "result of SGLang's bench_serving",
            Measurement::GuideLlm => "report of GuideLLM",
            Measurement::AiPerf => "report of AIPerf",
            Measurement::AiPerfRequests => "requests of AIPerf",
            Measurement::GenAiPerf => "report of GenAI-Perf",
            Measurement::InferenceX => "result of InferenceX",
            Measurement::InferencePerf => "report of inference-perf",
            Measurement::InferencePerfRequests => "requests of inference-perf",
            Measurement::Metrics => "metrics of a server",
            Measurement::VllmLog => "log of a vLLM server",
            Measurement::Steps => "CSV of steps",
        }
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}

fn has_all(found: &[String], names: &[&str]) -> bool {
    names.iter().all(|name| found.iter().any(|found| found == name))
}
