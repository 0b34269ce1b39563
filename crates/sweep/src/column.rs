//! The columns of a sweep.

use rooflut::table::Class;
use rooflut_scenario::Scenario;
use serde_json::Value;

use crate::grid::Grid;
use crate::kind::Kind;

/// A column: its name, its kind, and where the report of a run has its value, as a JSON pointer to keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pointer: String,
}

impl Column {
    /// Returns the value in a report; null if it has none. No key needs the escapes of `Value::pointer`, which copies
    /// each.
    pub(crate) fn of(&self, report: &Value) -> Value {
        let mut keys = self.pointer.split('/').skip(1);
        let value = keys.try_fold(report, |value, key| value.get(key));
        value.cloned().unwrap_or_default()
    }
}

fn column(name: &str, kind: Kind, pointer: &str) -> Column {
    Column { name: name.to_owned(), kind, pointer: pointer.to_owned() }
}

/// The columns before those of keys.
pub(crate) const FIXED: [(&str, Kind); 3] =
    [("index", Kind::Integer), ("grid", Kind::Text), ("schema_version", Kind::Integer)];

/// The first column of figures, which follows those of keys; it is no key itself.
pub(crate) const FIRST: &str = "gpus";

/// Columns that have the name of a report's field.
const FIELDS: [(&str, Kind); 23] = [
    (FIRST, Kind::Integer),
    ("model", Kind::Text),
    ("gpu", Kind::Text),
    ("tp", Kind::Integer),
    ("dp", Kind::Integer),
    ("pp", Kind::Integer),
    ("expert_parallel", Kind::Truth),
    ("replicas", Kind::Integer),
    ("engine", Kind::Text),
    ("weight_dtype", Kind::Text),
    ("kv_dtype", Kind::Text),
    ("requests", Kind::Integer),
    ("completed", Kind::Integer),
    ("rejected", Kind::Integer),
    ("preemptions", Kind::Integer),
    ("overloaded", Kind::Truth),
    ("makespan_s", Kind::Number),
    ("busy_share", Kind::Number),
    ("running_mean", Kind::Number),
    ("kv_blocks", Kind::Integer),
    ("kv_blocks_peak", Kind::Integer),
    ("prefix_cache_hit_rate", Kind::Number),
    ("max_model_len", Kind::Integer),
];
const RATES: [&str; 3] = ["requests_per_s", "output_tokens_per_s", "total_tokens_per_s"];
const SHARED_RATES: [&str; 3] = ["tokens_per_s_per_user", "output_tokens_per_s_per_gpu", "total_tokens_per_s_per_gpu"];
const LATENCIES: [&str; 5] = ["ttft", "tpot", "itl", "e2e", "queue"];
const FIGURES: [&str; 6] = ["mean", "p50", "p90", "p95", "p99", "p99_9"];
const WORK: [&str; 3] = ["million_output_tokens", "million_tokens", "request"];

/// Returns the columns of figures. They depend on the grid alone, so that those of its shards are equal.
pub(crate) fn figures(grid: &Grid) -> Vec<Column> {
    let is_axis = |key: &str| grid.axes().iter().any(|axis| axis.key() == key);
    let mut columns = figures_of(|key, is_given| is_given(grid.base()) || is_axis(key));
    columns.retain(|column| !is_axis(&column.name));
    columns
}

/// Returns the columns of a header with their kinds. Keys, which stand before the figures, may have any values, and
/// so may columns that this version does not know.
pub(crate) fn kinds(names: Vec<String>) -> Vec<(String, Kind)> {
    let first = names.iter().position(|name| name == FIRST).unwrap_or(names.len());
    let figures = figures_of(|_, _| true);
    let named = names.into_iter().enumerate().map(|(place, name)| {
        let kind = match FIXED.get(place) {
            Some((_, kind)) => Some(*kind),
            None if place < first => None,
            None => figures.iter().find(|figure| figure.name == name).map(|figure| figure.kind),
        };
        (name, kind.unwrap_or(Kind::Text))
    });
    named.collect()
}

/// Returns the columns of figures of a scenario that gives some keys, by their names and the scenario.
fn figures_of(is_given: impl Fn(&str, fn(&Scenario) -> bool) -> bool) -> Vec<Column> {
    let mut columns: Vec<Column> = FIELDS.iter().map(|(name, kind)| column(name, *kind, &format!("/{name}"))).collect();
    if is_given("patience", |scenario| scenario.workload.patience.is_some()) {
        columns.push(column("abandoned", Kind::Integer, "/clients/abandoned"));
        columns.push(column("retries", Kind::Integer, "/clients/retries"));
    }
    columns.push(column("is_steady", Kind::Truth, "/steady/is_steady"));
    columns.extend(RATES.map(|name| column(name, Kind::Number, &format!("/throughput/{name}"))));
    columns.extend(SHARED_RATES.map(|name| column(name, Kind::Number, &format!("/{name}"))));
    latencies(&mut columns, &LATENCIES, "", &[("", "")]);
    if is_given("goodput", |scenario| scenario.output.goodput.is_some()) {
        columns.push(column("goodput_met", Kind::Integer, "/goodput/met"));
        columns.push(column("goodput_requests_per_s", Kind::Number, "/goodput/requests_per_s"));
    }
    if is_given("interval", |scenario| scenario.output.interval.is_some()) {
        let ends = [("_low", "/low"), ("_high", "/high")];
        latencies(&mut columns, &["ttft", "tpot", "e2e"], "/interval", &ends);
        rates(&mut columns, "/interval", &ends);
    }
    if is_given("seeds", |scenario| scenario.workload.seeds.is_some()) {
        let ends = [("_lowest", "/lowest"), ("_highest", "/highest")];
        latencies(&mut columns, &LATENCIES, "/seeds", &ends);
        rates(&mut columns, "/seeds", &ends);
        columns.push(column("seeds_overloaded", Kind::Integer, "/seeds/overloaded"));
    }
    columns.push(column("usd_per_gpu_hour", Kind::Number, "/cost/usd_per_gpu_hour"));
    for (unit, cost) in [("usd", "cost"), ("wh", "energy_bound")] {
        let per = WORK.map(|work| {
            let name = format!("{unit}_per_{work}");
            column(&name, Kind::Number, &format!("/{cost}/{unit}_per/{work}"))
        });
        columns.extend(per);
    }
    columns.extend(["class", "extent"].map(|name| column(name, Kind::Text, &format!("/{name}"))));
    let sources = Class::ALL.map(Class::name).into_iter().chain(["fitted"]);
    columns.extend(sources.map(|source| {
        let name = format!("time_share_{source}");
        column(&name, Kind::Number, &format!("/time_share_by_source/{source}"))
    }));
    columns.push(column("time_share_outside", Kind::Number, "/time_share_outside"));
    columns
}

/// Adds the figures of latencies: `ttft_p99_ms` at `/ttft_ms/p99`, `ttft_p99_low_ms` at `/interval/ttft_ms/p99/low`.
fn latencies(columns: &mut Vec<Column>, names: &[&str], of: &str, ends: &[(&str, &str)]) {
    for latency in names {
        for figure in FIGURES {
            for (end, field) in ends {
                let name = format!("{latency}_{figure}{end}_ms");
                let pointer = format!("{of}/{latency}_ms/{figure}{field}");
                columns.push(column(&name, Kind::Number, &pointer));
            }
        }
    }
}

fn rates(columns: &mut Vec<Column>, of: &str, ends: &[(&str, &str)]) {
    for rate in ["requests_per_s", "output_tokens_per_s"] {
        for (end, field) in ends {
            let name = rate.replace("_per_s", &format!("{end}_per_s"));
            columns.push(column(&name, Kind::Number, &format!("{of}/{rate}{field}")));
        }
    }
}
