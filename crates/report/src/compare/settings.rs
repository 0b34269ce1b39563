//! Settings of two reports that differ.

use rooflut::deployment::ServerOptions;
use serde::Serialize;
use serde_json::Value;

use super::read::ReadReport;

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Setting {
    /// Its keys in a report, with dots between them.
    pub key: String,
    /// The setting of the first report; null where it has none.
    pub a: Value,
    /// The setting of the second.
    pub b: Value,
}

/// Keys of a report that were given, or follow from that alone, before the settings of the servers.
const BEFORE_SERVER: &[&str] = &[
    "model",
    "parameters",
    "gpu",
    "base",
    "gpus",
    "tp",
    "dp",
    "pp",
    "expert_parallel",
    "replicas",
    "router",
    "disaggregation.prefill_replicas",
    "disaggregation.decode_replicas",
    "disaggregation.link_bandwidth_gb_per_s",
    "disaggregation.link_latency_us",
    "outages",
    "clients.patience_s",
    "clients.retries_per_request",
    "speculation.draft_tokens",
    "speculation.acceptance",
    "speculation.draft_model",
    "load",
    "requests",
    "seed",
    "weight_dtype",
    "expert_dtype",
    "kv_dtype",
    "sampler",
    "engine",
];

/// Such keys of a kind of servers.
const OF_KIND: &[&str] = &[
    "role",
    "servers",
    "gpu",
    "base",
    "tp",
    "dp",
    "pp",
    "expert_parallel",
    "weight_dtype",
    "expert_dtype",
    "kv_dtype",
    "max_num_seqs",
    "max_num_batched_tokens",
    "long_prefill_token_threshold",
    "max_model_len",
    "gpu_memory_utilization",
    "max_waiting",
];

/// Such keys after these settings.
const AFTER_SERVER: &[&str] =
    &["goodput.ttft_ms", "goodput.tpot_ms", "goodput.e2e_ms", "cost.usd_per_gpu_hour", "table_engine"];

/// Returns the settings that differ, in the order of their importance.
pub(super) fn differing(a: &ReadReport, b: &ReadReport) -> Vec<Setting> {
    // The report's `kv_blocks` are those of all servers.
    let of_server = ServerOptions::NAMES.iter().filter(|name| **name != "kv_blocks");
    let mut settings = Vec::new();
    let kinds = [a, b].map(|report| at(report, "servers").as_array().map_or(0, Vec::len));
    for kind in 0..kinds.into_iter().max().unwrap_or_default() {
        for key in OF_KIND {
            let [of_a, of_b] = [a, b].map(|report| {
                let kind = at(report, "servers").get(kind);
                kind.and_then(|kind| kind.get(key)).unwrap_or(&Value::Null)
            });
            compare(&format!("servers.{kind}.{key}"), of_a, of_b, &mut settings);
        }
    }
    for key in BEFORE_SERVER.iter().chain(of_server).chain(AFTER_SERVER) {
        compare(key, at(a, key), at(b, key), &mut settings);
    }
    settings
}

/// Returns the value at a path; null where there is none.
fn at<'r>(report: &'r ReadReport, path: &str) -> &'r Value {
    let mut keys = path.split('.');
    let first = keys.next().and_then(|key| report.keys.get(key));
    let value = keys.fold(first, |value, key| value?.get(key));
    value.unwrap_or(&Value::Null)
}

/// Adds what differs, key by key in objects.
fn compare(key: &str, a: &Value, b: &Value, settings: &mut Vec<Setting>) {
    if a == b {
        return;
    }
    let (Value::Object(of_a), Value::Object(of_b)) = (a, b) else {
        settings.push(Setting { key: key.to_owned(), a: a.clone(), b: b.clone() });
        return;
    };
    let others = of_b.keys().filter(|name| !of_a.contains_key(*name));
    for name in of_a.keys().chain(others) {
        let [a, b] = [of_a, of_b].map(|keys| keys.get(name).unwrap_or(&Value::Null));
        compare(&format!("{key}.{name}"), a, b, settings);
    }
}
