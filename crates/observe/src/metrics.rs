//! Metrics of vLLM and of SGLang.

use std::collections::BTreeMap;

use rooflut_error::Error;
use serde_json::{Value, json};

use crate::contents::Contents;
use crate::json::contents;
use crate::prometheus::{self, Sample};

/// Counters of a server since its start.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scrape {
    /// The prefix of its metrics: `vllm` or `sglang`.
    engine: &'static str,
    /// Sums over the engines of the server, without the prefix.
    totals: BTreeMap<String, f64>,
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

/// Reads a scrape.
pub(crate) fn read(text: &str) -> Result<Contents, Error> {
    let samples = prometheus::read(text)?;
    let engine = ["vllm", "sglang"].into_iter().find(|engine| samples.iter().any(|it| own_name(it, engine).is_some()));
    let engine =
        engine.ok_or_else(|| contents("expected metrics of vLLM or SGLang, found others; leave the file out"))?;
    let mut found = Contents::default();
    let mut totals: BTreeMap<String, f64> = BTreeMap::new();
    for sample in &samples {
        let Some(name) = own_name(sample, engine) else {
            continue;
        };
        if let Some(model) = sample.label("model_name").filter(|model| !found.models.iter().any(|known| known == model))
        {
            found.models.push(model.to_owned());
        }
        if ["_total", "_sum", "_count"].iter().any(|ending| name.ends_with(ending)) {
            if !(sample.value >= 0.0 && sample.value.is_finite()) {
                let text = format!("{}: expected a number of at least 0, found {}", sample.name, sample.value);
                return Err(contents(text + "; fetch the metrics again"));
            }
            *totals.entry(name.to_owned()).or_default() += sample.value;
        }
    }
    found.facts = if engine == "vllm" { cache_config(&samples) } else { gauges(&samples) };
    found.scrape = Some(Scrape { engine, totals });
    Ok(found)
}

/// Returns the name without the prefix of the engine.
fn own_name<'t>(sample: &Sample<'t>, engine: &str) -> Option<&'t str> {
    sample.name.strip_prefix(engine)?.strip_prefix(':')
}

/// Returns what vLLM says of its KV cache, of the engine with the fewest blocks.
fn cache_config(samples: &[Sample<'_>]) -> Vec<(&'static str, Value)> {
    let configs = || samples.iter().filter(|sample| sample.name == "vllm:cache_config_info");
    let blocks = configs().filter_map(|sample| sample.label("num_gpu_blocks")?.parse::<u64>().ok()).min();
    let mut facts: Vec<(&'static str, Value)> = blocks.map(|blocks| ("kv_blocks", json!(blocks))).into_iter().collect();
    let label = |name: &str| configs().find_map(|sample| sample.label(name));
    facts.extend(label("block_size").and_then(|size| size.parse::<u64>().ok()).map(|size| ("block_size", json!(size))));
    let share = label("gpu_memory_utilization").and_then(|share| share.parse::<f64>().ok());
    facts.extend(share.map(|share| ("gpu_memory_utilization", json!(share))));
    let caching = label("enable_prefix_caching").and_then(|on| match on {
        "True" => Some("on"),
        "False" => Some("off"),
        _ => None,
    });
    facts.extend(caching.map(|caching| ("prefix_caching", json!(caching))));
    facts
}

/// Returns what SGLang says of itself.
fn gauges(samples: &[Sample<'_>]) -> Vec<(&'static str, Value)> {
    let named = [("kv_tokens", "sglang:max_total_num_tokens"), ("max_model_len", "sglang:context_len")];
    let found = named.into_iter().filter_map(|(name, metric)| {
        let values = samples.iter().filter(|sample| sample.name == metric && sample.value > 0.0).map(|it| it.value);
        values.min_by(f64::total_cmp).map(|value| (name, json!(value as u64)))
    });
    found.collect()
}

impl Scrape {
    /// The order of scrapes of one server: counters only rise.
    pub(crate) fn progress(&self) -> f64 {
        self.totals.values().sum()
    }

    pub(crate) fn engine(&self) -> &'static str {
        self.engine
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
