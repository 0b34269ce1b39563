//! `rooflut observe`: what was measured of a server.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use rooflut_observe::{Distribution, Fact, Load, Measured, Run, Step};
use serde_json::Value;

use crate::args::ObserveArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{count, latency_cell, plural, scientific, three_digits, title, to_json, warnings, wrapped_at};
use crate::output_file::OutputFile;
use crate::outputs::{Existing, Outputs};
use crate::prepared::PreparedRun;
use crate::{input, measured};

/// Column of the text after its label.
const INDENT: usize = 12;
/// Beginnings of the outputs.
const OF_JSON: &[u8] = b"{\n  \"schema_version\": 1,\n  \"files\": [";
const OF_SCENARIO: &[u8] = b"# As measured: ";

/// Reads files of a server, and answers with what they tell.
pub(crate) fn run(args: &ObserveArgs) -> Result<String, Error> {
    let inputs = args.measured.files.iter().map(|path| (path.clone(), "is an input"));
    let mut outputs = Outputs::new(inputs.collect(), Existing::from(args.force));
    let mut open = |path: Option<&Path>, first: &[u8]| path.map(|path| outputs.open(path, first)).transpose();
    let out = open(args.out.as_deref(), OF_JSON)?;
    let scenario_out = open(args.scenario_out.as_deref(), OF_SCENARIO)?;
    let measured = measured::read(&args.measured)?;
    if measured.is_complete() {
        for run in 0..measured.runs.len().max(1) {
            PreparedRun::try_new(&measured.scenario(run)?, &input::open)?;
        }
    }
    let run = (scenario_out.is_some() || args.run.is_some()).then(|| chosen(args.run, &measured)).transpose()?;
    if let Some((file, run)) = scenario_out.zip(run) {
        write(file, args.scenario_out.as_deref(), &measured.scenario_file(run)?)?;
    }
    let json = to_json(&measured)?;
    if let Some(file) = out {
        write(file, args.out.as_deref(), &json)?;
    }
    Ok(if args.json { json } else { text(&measured) })
}

/// Returns the index of the load that is asked for, or of the only one.
fn chosen(run: Option<usize>, measured: &Measured) -> Result<usize, Error> {
    match (run, measured.runs.len()) {
        (None, loads) if loads > 1 => {
            Err(Error::new(format!("--scenario-out needs one load, found {loads}; choose one with --run 1 to {loads}")))
        }
        (Some(0), _) => Err(Error::new("--run: expected a number of at least 1, found 0")),
        (run, _) => Ok(run.unwrap_or(1) - 1),
    }
}

pub(crate) fn write(mut file: OutputFile, path: Option<&Path>, text: &str) -> Result<(), Error> {
    file.write_all(text.as_bytes()).map_err(Error::writing(path.unwrap_or(Path::new("-"))))?;
    file.finish()
}

/// Returns what was measured as text.
pub(crate) fn text(measured: &Measured) -> String {
    let model = measured.deployment.get("model").and_then(|fact| fact.value.as_str()).unwrap_or("a server");
    let mut text = title(&format!("{model} as measured"));
    if !measured.notes.is_empty() {
        text += &warnings(INDENT, &measured.notes);
        text += "\n";
    }
    for file in &measured.files {
        let version = file.version.as_ref().map_or_else(String::new, |version| format!(" (version {version})"));
        text += &wrapped_at(INDENT, "file", &format!("{}: {}{version}", file.file, file.kind));
    }
    for (label, facts) in [("deployed", &measured.deployment), ("server", &measured.facts)] {
        for (source, facts) in by_source(facts) {
            text += &wrapped_at(INDENT, label, &format!("{} ({source})", facts.join(", ")));
        }
    }
    for (index, run) in measured.runs.iter().enumerate() {
        let label = if measured.runs.len() > 1 { format!("run {}", index + 1) } else { "load".to_owned() };
        text += &format!("\n{}", wrapped_at(INDENT, &label, &describe(run)));
        text += &figures(run).render(INDENT);
    }
    text += &others(measured);
    if !measured.missing.is_empty() {
        let flags: Vec<String> = measured.missing.iter().map(|key| flag(key)).collect();
        let advice = match flags.len() {
            1 => "not in any file; give it if it is not the default",
            _ => "not in any file; give those that are not the default",
        };
        let missing = format!("{}: {advice}", flags.join(", "));
        text += &format!("\n{}", wrapped_at(INDENT, "missing", &missing));
    }
    text
}

/// Returns facts by their source.
fn by_source(facts: &BTreeMap<String, Fact>) -> BTreeMap<&str, Vec<String>> {
    let mut by_source: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, fact) in facts {
        by_source.entry(&fact.source).or_default().push(format!("{key} {}", shown(&fact.value)));
    }
    by_source
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => count(whole),
            None => number.as_f64().map_or_else(|| number.to_string(), scientific),
        },
        other => other.to_string(),
    }
}

/// `160 requests, 16 at a time: vllm bench serve; 3.90 requests, 999 output tokens per second over 41.0 s`.
fn describe(run: &Run) -> String {
    let Load { completed, asked_per_s, sent_per_s, users, .. } = run.load;
    let requests = completed.map_or_else(|| "requests".to_owned(), |completed| plural(completed, "request"));
    let rate = |rate: f64| format!("{} per second", three_digits(rate));
    let sent = match (asked_per_s, sent_per_s) {
        (Some(asked), Some(sent)) => format!(" at {} ({} asked)", rate(sent), three_digits(asked)),
        (Some(asked), None) => format!(" at {}", rate(asked)),
        (None, _) => users.map_or_else(String::new, |users| format!(", {users} at a time")),
    };
    let version = run.client_version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let served = [
        (run.requests_per_s, "requests per second"),
        (run.output_tokens_per_s, "output tokens per second"),
        (run.duration_s, "seconds"),
    ];
    let served = served.iter().filter_map(|(figure, unit)| Some(format!("{} {unit}", three_digits((*figure)?))));
    let served: Vec<String> = served.collect();
    format!("{requests}{sent} by {}{version}; {}", run.client, served.join(", "))
}

/// Returns the latencies and lengths of a run.
fn figures(run: &Run) -> Grid {
    let mut grid = Grid::new("figure | unit | >mean | >p50 | >p90 | >p95 | >p99");
    let named = ["TTFT", "TPOT", "ITL", "E2E"].into_iter().zip(run.latencies());
    for (name, (_, figures)) in named.filter(|(_, (_, figures))| !figures.is_empty()) {
        grid.row(cells(name, "ms", figures, latency_cell));
    }
    for (name, tokens) in [("prompt", &run.load.prompt_tokens), ("output", &run.load.output_tokens)] {
        if !tokens.is_empty() {
            grid.row(cells(name, "tokens", tokens, three_digits));
        }
    }
    grid
}

fn cells(name: &str, unit: &str, figures: &Distribution, cell: fn(f64) -> String) -> Vec<String> {
    let Distribution { mean, p50, p90, p95, p99, .. } = *figures;
    let shown = [mean, p50, p90, p95, p99].map(|figure| figure.map_or_else(|| "-".to_owned(), cell));
    [name.to_owned(), unit.to_owned()].into_iter().chain(shown).collect()
}

/// Returns the metrics and the steps.
fn others(measured: &Measured) -> String {
    let mut text = String::new();
    if !measured.metrics.is_empty() {
        let metrics = measured.metrics.iter().map(|(name, value)| format!("{name} {}", three_digits(*value)));
        let metrics: Vec<String> = metrics.collect();
        let of = format!("{} ({})", metrics.join(", "), measured.metric_files.join(", "));
        text += &format!("\n{}", wrapped_at(INDENT, "metrics", &of));
    }
    if let Some([ms, prefill_tokens, decode_requests]) = Step::means(&measured.steps) {
        let about = format!(
            "{}: {} ms, {} prompt tokens and {} decoding requests on average",
            plural(measured.steps.len() as u64, "step"),
            three_digits(ms),
            three_digits(prefill_tokens),
            three_digits(decode_requests),
        );
        text += &format!("\n{}", wrapped_at(INDENT, "steps", &about));
    }
    text
}

fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}
