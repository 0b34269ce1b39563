//! Metrics of vLLM and of SGLang.

use std::collections::BTreeMap;

use rooflut_error::Error;
use serde_json::{Value, json};

use crate::contents::Contents;
use crate::json::contents;
use crate::prometheus::{self, Sample};
use crate::scrape::Scrape;

/// Maximum size of a scrape, MiB: its values take ten times its size.
const MAX_MIB: usize = 16;

/// Reads a scrape.
pub(crate) fn read(text: &str) -> Result<Contents, Error> {
    if text.len() > MAX_MIB << 20 {
        let found = text.len().div_ceil(1 << 20);
        return Err(contents(format!("expected at most {MAX_MIB} MiB of metrics, found {found} MiB; give one scrape")));
    }
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
