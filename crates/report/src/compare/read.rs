//! A report that is read.

use std::fmt::Display;

use rooflut::sim::figures::Throughput;
use rooflut_error::{Error, JsonSize, Kind};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::figures::LatencyMs;
use crate::report::Report;
use crate::versioned::SCHEMA_VERSION;

/// Maximum size of a report in memory, MiB. Two are compared.
const MAX_MIB: u64 = 256;

/// A report as JSON has it, of this or another run.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadReport {
    /// All keys.
    pub(super) keys: Map<String, Value>,
    pub(super) figures: Figures,
}

/// The figures that are compared.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Figures {
    model: String,
    gpu: String,
    gpus: u64,
    pub(super) weight_bytes: f64,
    pub(super) ttft_ms: LatencyMs,
    pub(super) tpot_ms: LatencyMs,
    pub(super) itl_ms: LatencyMs,
    pub(super) e2e_ms: LatencyMs,
    pub(super) queue_ms: LatencyMs,
    pub(super) overloaded: bool,
    pub(super) throughput: Throughput,
    pub(super) goodput: Option<Goodput>,
    pub(super) cost: Option<Cost>,
    pub(super) energy_bound: Option<Energy>,
    pub(super) rejected: f64,
    pub(super) preemptions: f64,
    pub(super) mean_step_ms: Option<f64>,
    pub(super) busy_share: f64,
    pub(super) batch_size: Option<Batch>,
    pub(super) kv_blocks: f64,
    pub(super) kv_blocks_peak: f64,
    pub(super) block_size: f64,
    pub(super) time_share_by_part: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Goodput {
    pub(super) requests_per_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Cost {
    pub(super) usd_per: PerTokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Energy {
    pub(super) wh_per: PerTokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct PerTokens {
    pub(super) million_output_tokens: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Batch {
    pub(super) mean: f64,
}

impl ReadReport {
    /// Reads the JSON of a report.
    ///
    /// # Errors
    /// Text that is not JSON, or not the report of a run, or takes too much memory.
    pub fn read(json: &[u8]) -> Result<ReadReport, Error> {
        JsonSize::VALUES.check(json, MAX_MIB)?;
        let keys: Map<String, Value> = serde_json::from_slice(json).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => no_report(NO_OBJECT),
            _ => wrong("JSON", error),
        })?;
        match keys.get("schema_version") {
            Some(version) if *version != SCHEMA_VERSION => {
                Err(no_report(format_args!("expected schema_version {SCHEMA_VERSION}, found {version}")))
            }
            _ => ReadReport::of_keys(keys),
        }
    }

    fn of_keys(keys: Map<String, Value>) -> Result<ReadReport, Error> {
        let figures = Figures::deserialize(&keys).map_err(no_report)?;
        Ok(ReadReport { keys, figures })
    }

    /// Returns the report of a run as JSON has it.
    ///
    /// # Errors
    /// None is known: a report is an object with all keys.
    pub fn of(report: &Report) -> Result<ReadReport, Error> {
        match serde_json::to_value(report).map_err(no_report)? {
            Value::Object(keys) => ReadReport::of_keys(keys),
            _ => Err(no_report(NO_OBJECT)),
        }
    }

    /// Returns the remarks of the report, such as that its servers are not those to which an engine was fitted.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        let notes = self.keys.get("notes").and_then(Value::as_array);
        notes.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the model and its GPUs, as in `llama-3.1-8b on 2 h100`.
    pub fn title(&self) -> String {
        let Figures { model, gpus, gpu, .. } = &self.figures;
        format!("{model} on {gpus} {gpu}")
    }
}

const NO_OBJECT: &str = "found another JSON value than an object";

fn no_report(found: impl Display) -> Error {
    wrong("the report of a run", found)
}

fn wrong(expected: &str, found: impl Display) -> Error {
    let text = format!("expected {expected}: {found}; write the report with `rooflut run --json`");
    Error::new(Kind::Contents, text)
}

impl Figures {
    /// Returns the mean time of a part of a step, milliseconds.
    pub(super) fn part_ms(&self, part: &str) -> Option<f64> {
        let share = self.time_share_by_part.get(part).and_then(Value::as_f64);
        Some(share? * self.mean_step_ms?)
    }

    /// Returns the mean time to first token after the queue: the API server and the prefill.
    pub(super) fn prefill_ms(&self) -> Option<f64> {
        Some(self.ttft_ms.mean? - self.queue_ms.mean?)
    }

    /// Returns the mean time from the first token to the last.
    pub(super) fn decode_ms(&self) -> Option<f64> {
        Some(self.e2e_ms.mean? - self.ttft_ms.mean?)
    }

    pub(super) fn peak_kv_share(&self) -> Option<f64> {
        (self.kv_blocks > 0.0).then(|| self.kv_blocks_peak / self.kv_blocks)
    }
}
