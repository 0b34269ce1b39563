//! Counters of a server.

use std::collections::BTreeMap;

use rooflut_error::Error;

use crate::json::contents;

/// Counters of a server since its start.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scrape {
    /// The prefix of its metrics: `vllm` or `sglang`.
    pub(crate) engine: &'static str,
    /// Sums over the engines of the server, without the prefix.
    pub(crate) totals: BTreeMap<String, f64>,
}

/// Means of histograms: the name, the metrics that versions and engines have for it, and its unit.
const MEANS: [(&str, &[&str], f64); 10] = [
    ("ttft_ms", &["time_to_first_token_seconds"], 1e3),
    ("tpot_ms", &["request_time_per_output_token_seconds"], 1e3),
    // vLLM calls the gaps between tokens so up to 0.10.
    ("itl_ms", &["inter_token_latency_seconds", "time_per_output_token_seconds"], 1e3),
    ("e2e_ms", &["e2e_request_latency_seconds"], 1e3),
    ("queue_ms", &["request_queue_time_seconds", "queue_time_seconds"], 1e3),
    ("prefill_ms", &["request_prefill_time_seconds"], 1e3),
    ("decode_ms", &["request_decode_time_seconds"], 1e3),
    ("prompt_tokens_per_request", &["request_prompt_tokens", "prompt_tokens_histogram"], 1.0),
    ("output_tokens_per_request", &["request_generation_tokens", "generation_tokens_histogram"], 1.0),
    ("tokens_per_step", &["iteration_tokens_total"], 1.0),
];

/// Counts.
const COUNTS: [(&str, &[&str]); 6] = [
    ("requests", &["request_success_total", "num_requests_total"]),
    ("prompt_tokens", &["prompt_tokens_total"]),
    ("output_tokens", &["generation_tokens_total"]),
    ("cached_prompt_tokens", &["prefix_cache_hits_total", "cached_tokens_total"]),
    ("preemptions", &["num_preemptions_total"]),
    ("steps", &["iteration_tokens_total_count"]),
];

impl Scrape {
    /// The order of scrapes of one server: counters only rise.
    pub(crate) fn progress(&self) -> f64 {
        self.totals.values().sum()
    }

    /// Returns what happened since `earlier`.
    ///
    /// # Errors
    /// Counters that fell.
    pub(crate) fn since(&self, earlier: &Scrape) -> Result<Scrape, Error> {
        let mut totals = self.totals.clone();
        for (name, before) in &earlier.totals {
            let after = totals.entry(name.clone()).or_default();
            if *after < *before {
                let text = format!(
                    "{}:{name} falls from {before} to {after}: the server was started again, or these are two servers; \
                     give scrapes of one server without a start between them",
                    self.engine
                );
                return Err(contents(text));
            }
            *after -= before;
        }
        Ok(Scrape { engine: self.engine, totals })
    }

    /// Returns the figures by name.
    pub(crate) fn figures(&self) -> BTreeMap<String, f64> {
        let total = |name: &str| self.totals.get(name).copied();
        let first = |names: &[&str], ending: &str| names.iter().find_map(|name| total(&format!("{name}{ending}")));
        let means = MEANS.iter().filter_map(|(name, metrics, unit)| {
            let (sum, count) = (first(metrics, "_sum")?, first(metrics, "_count").filter(|count| *count > 0.0)?);
            Some(((*name).to_owned(), sum / count * unit))
        });
        let counts = COUNTS.iter().filter_map(|(name, metrics)| Some(((*name).to_owned(), first(metrics, "")?)));
        let asked = total("prefix_cache_queries_total").or_else(|| total("prompt_tokens_total"));
        let hits =
            first(&["prefix_cache_hits_total", "cached_tokens_total"], "").zip(asked.filter(|asked| *asked > 0.0));
        let hit_rate = hits.map(|(hits, asked)| ("prefix_hit_rate".to_owned(), hits / asked));
        means.chain(counts).chain(hit_rate).collect()
    }
}
