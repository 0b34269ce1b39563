//! Runs with all writers, and readers of what they write.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests fails as tests do")]

use std::collections::BTreeMap;

use rooflut::engine::stacks;
use rooflut::sim::cluster::{Cluster, Disaggregated, KvLink, Router, ServerPool};
use rooflut::sim::load::{RequestList, Source};
use rooflut::sim::{Request, SimConfig, SimReport, Simulator};
use rooflut::step::{LatencyModel, StepBatch};
use rooflut::units::Seconds;
use rooflut_report::{RequestsCsv, StepsCsv, Timeline};
use serde_json::Value;

/// 5 ms a step and 40 us a token.
#[derive(Clone, Copy)]
pub(crate) struct Linear;

impl LatencyModel for Linear {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        Seconds::from_us(5_000.0 + 40.0 * batch.tokens() as f64)
    }
}

/// Columns of numbers; `None` where a row has none.
pub(crate) type Columns = BTreeMap<String, Vec<Option<f64>>>;

/// A run and what the writers wrote of it.
pub(crate) struct Written {
    pub(crate) report: SimReport,
    pub(crate) requests_csv: String,
    pub(crate) steps_csv: String,
    pub(crate) timeline_json: String,
    pub(crate) timeline: Value,
}

impl Written {
    pub(crate) fn requests(&self) -> Columns {
        columns(&self.requests_csv)
    }

    pub(crate) fn steps(&self) -> Columns {
        columns(&self.steps_csv)
    }
}

type Bytes = Vec<u8>;
type Writers = (RequestsCsv<Bytes>, (StepsCsv<Bytes>, Timeline<Bytes>));

/// Writes what `serve` does on servers of these names.
pub(crate) fn write(names: &[&str], serve: impl FnOnce(&mut Writers) -> SimReport) -> Written {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let timeline = Timeline::new(Vec::new(), &names);
    let steps = StepsCsv::new(Vec::new());
    let mut writers = (RequestsCsv::new(Vec::new()), (steps, timeline));
    let report = serve(&mut writers);
    let (requests, (steps, timeline)) = writers;
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let timeline_json = text(timeline.finish().unwrap());
    Written {
        report,
        requests_csv: text(requests.finish().unwrap()),
        steps_csv: text(steps.finish().unwrap()),
        timeline: serde_json::from_str(&timeline_json).unwrap(),
        timeline_json,
    }
}

/// The limits of a server so small that it preempts, chunks prompts and lets requests wait.
pub(crate) fn tight() -> SimConfig {
    let mut config = SimConfig::new(4096, 100).with_engine(&stacks::VLLM_0_15_1);
    config.max_num_seqs = 8;
    config.max_num_batched_tokens = 256;
    config
}

/// Twenty requests with a pause among them, and one that no tight server can take.
pub(crate) fn trace() -> Vec<Request> {
    let served = (0..20_u32).map(|index| {
        let pause_ms = if index < 15 { 0 } else { 60_000 };
        let arrival_ms = pause_ms + 3 * u64::from(index);
        Request::new(100 + 20 * index, 1 + 9 * index).at_ns(arrival_ms * 1_000_000)
    });
    let rejected = Request::new(3_000, 10).at_ns(70_000_000_000);
    served.chain([rejected]).collect()
}

/// One server.
pub(crate) fn single(config: SimConfig, requests: &[Request]) -> Written {
    let server = Simulator::try_new(Linear, config).unwrap();
    write(&["server"], |out| server.run_source(&mut RequestList::new(requests), out).unwrap())
}

/// Three replicas.
pub(crate) fn replicas(requests: &[Request]) -> Written {
    let servers = Cluster::try_new(Linear, tight(), 3, Router::RoundRobin).unwrap();
    write(&["replica 0", "replica 1", "replica 2"], |out| {
        servers.run_source(&mut RequestList::new(requests), out).unwrap()
    })
}

/// Two prefill and two decode servers.
pub(crate) fn pools(config: SimConfig, source: &mut impl Source) -> Written {
    let pool = ServerPool::new(Linear, config, 2);
    let link = KvLink::try_new(10e9, Seconds::from_us(50.0), 131_072.0).unwrap();
    let servers = Disaggregated::try_new(pool, pool, Router::RoundRobin, link).unwrap();
    let names = ["prefill 0", "prefill 1", "decode 2", "decode 3"];
    write(&names, |out| servers.run_source(source, out).unwrap())
}

fn columns(text: &str) -> Columns {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let names = header.iter().map(str::to_owned);
    let mut columns: Columns = names.map(|name| (name, Vec::new())).collect();
    for row in reader.records() {
        for (name, field) in header.iter().zip(&row.unwrap()) {
            columns.get_mut(name).unwrap().push(field.parse().ok());
        }
    }
    columns
}

pub(crate) fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {value}"))
}

pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {pointer} of {value}"))
}

/// Whole nanoseconds of a time in microseconds.
pub(crate) fn ns(event: &Value, pointer: &str) -> u64 {
    (number(event, pointer) * 1e3).round() as u64
}

/// The process of an event.
pub(crate) fn pid(event: &Value) -> u64 {
    event["pid"].as_u64().unwrap()
}

/// The events of a timeline of these kinds.
pub(crate) fn events<'t>(timeline: &'t Value, kinds: &str) -> Vec<&'t Value> {
    let all = timeline["traceEvents"].as_array().unwrap().iter();
    all.filter(|event| kinds.contains(text(event, "/ph"))).collect()
}
