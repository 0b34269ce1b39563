//! `rooflut compare`: two scenarios or reports side by side.

use std::path::Path;

use rooflut_error::Whole;
use rooflut_report::compare::{Cause, Comparison, Figure, ReadReport, Setting};
use rooflut_scenario::{Kind, ScenarioFile};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::{CompareArgs, RunArgs};
use crate::error::Error;
use crate::grid::Grid;
use crate::html::HtmlFile;
use crate::output::{Answered, count, scientific, three_digits, title, to_json, warnings, wrapped_at};
use crate::outputs::{Existing, Outputs};
use crate::untrusted::UntrustedArgs;
use crate::{compared, input, measured, run};

/// Column of the text after its label.
const INDENT: usize = 12;
/// Maximum number of terms of a difference that are named.
const MAX_TERMS: usize = 4;
/// Terms below this share of the largest are not named.
const MIN_TERM: f64 = 0.01;

/// Compares and answers with the text to print.
pub(crate) fn run(args: &CompareArgs, command: &str) -> Result<Answered, Error> {
    let bytes = input::read(&args.a, Whole::Measured).map_err(Error::reading(&args.a))?;
    if let Some(measured) = compared::measured(&args.a, &bytes)? {
        return Ok(compared::answer(args, &measured)?.into());
    }
    let Some(of_b) = &args.b else {
        return Err(no_second(&args.a, &bytes));
    };
    if args.run.is_some() {
        return Err(Error::new("--run has no effect: it chooses a measured load, and none is compared; leave it out"));
    }
    let inputs = [&args.a, of_b].map(|path| (path.clone(), "is compared"));
    let html = HtmlFile::open(args.html.html.as_deref(), &mut Outputs::new(inputs.into(), Existing::Keep))?;
    let a = read(&args.a, bytes, args.untrusted)?;
    let b = read(of_b, input::read(of_b, Whole::Report).map_err(Error::reading(of_b))?, args.untrusted)?;
    let as_json = || json([&args.a, of_b], &a, &b);
    let text = if args.json { as_json()? } else { text([&args.a, of_b], &a, &b) };
    HtmlFile::of_answer(html, text.into(), "rooflut compare", as_json, command)
}

/// A single file that is no measurement.
fn no_second(path: &Path, bytes: &[u8]) -> Error {
    if bytes.trim_ascii_start().starts_with(b"{") && ReadReport::read(bytes).is_err() {
        return measured::not_observed(path, bytes);
    }
    Error::new("expected a second scenario or report to compare with; add it")
}

/// Returns two runs side by side as JSON; `paths` name them.
pub(crate) fn json(paths: [&Path; 2], a: &ReadReport, b: &ReadReport) -> Result<String, Error> {
    let [of_a, of_b] = paths;
    to_json(&ComparisonJson { a: SideJson::new(of_a, a), b: SideJson::new(of_b, b), comparison: Comparison::of(a, b) })
}

fn text([of_a, of_b]: [&Path; 2], a: &ReadReport, b: &ReadReport) -> String {
    let comparison = Comparison::of(a, b);
    let mut text = title("Two runs side by side");
    for (name, path, report) in [("A", of_a, a), ("B", of_b, b)] {
        let about = format!("{}: {}", path.display(), report.title());
        text += &wrapped_at(INDENT, name, &about);
        text += &warnings(INDENT, report.notes());
    }
    text + "\n" + &describe(&comparison)
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
/// Two runs side by side.
pub(crate) struct ComparisonJson {
    a: SideJson,
    b: SideJson,
    #[serde(flatten)]
    comparison: Comparison,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SideJson {
    path: String,
    /// The model and its GPUs.
    title: String,
}

impl SideJson {
    fn new(path: &Path, report: &ReadReport) -> SideJson {
        SideJson { path: path.display().to_string(), title: report.title() }
    }
}

/// Reads a report, or a scenario and simulates it.
fn read(path: &Path, bytes: Vec<u8>, untrusted: UntrustedArgs) -> Result<ReadReport, Error> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') {
        return ReadReport::read(&bytes).map_err(|error| error.in_file(path).into());
    }
    let file = ScenarioFile::read(&bytes).map_err(|error| {
        let error = error.in_file(path);
        Error::new(match error.kind() {
            Kind::Contents => {
                error.map(|text| format!("expected a scenario or a report of `rooflut run --json`: {text}"))
            }
            _ => error,
        })
    })?;
    let args = RunArgs::of_file(path, file, untrusted)?;
    let report = run::report(&args).map_err(|error| {
        if error.keys().is_empty() { Error::in_file(path, None, error.in_keys()) } else { args.place(error) }
    })?;
    Ok(ReadReport::of(&report)?)
}

fn describe(comparison: &Comparison) -> String {
    let mut settings = Grid::new("setting | A | B");
    for Setting { key, a, b, .. } in &comparison.settings {
        settings.row(vec![key.clone(), shown(a), shown(b)]);
    }
    let mut figures = Grid::new("figure | unit | >A | >B | >B - A | >%");
    let mut group = None;
    for figure in &comparison.figures {
        if group.is_some_and(|group| group != figure.group) {
            figures.row(vec![String::new(); 6]);
        }
        group = Some(figure.group);
        figures.row(cells(figure));
    }
    let settings = if settings.is_empty() { wrapped_at(2, "", "all settings are equal") } else { settings.render(2) };
    let causes = comparison.causes.iter().filter_map(describe_cause);
    let remarks = comparison.remarks.iter().cloned();
    let why: String = causes.chain(remarks).map(|why| wrapped_at(INDENT, "why", &why)).collect();
    let gap = if why.is_empty() { "" } else { "\n" };
    format!("{settings}\n{}{gap}{why}", figures.render(2))
}

fn cells(figure: &Figure) -> Vec<String> {
    let shown = |value: Option<f64>, of: fn(f64) -> String| value.map_or("-".to_owned(), of);
    vec![
        format!("{}{}", if figure.is_term { "  " } else { "" }, figure.name),
        figure.unit.to_owned(),
        shown(figure.a, three_digits),
        shown(figure.b, three_digits),
        shown(figure.difference, difference),
        shown(figure.percent, difference),
    ]
}

/// `E2E mean: B is 1230 ms lower: -1200 decode, -31.0 queue`; `None` where nothing differs.
fn describe_cause(cause: &Cause) -> Option<String> {
    let largest = cause.terms.first()?.difference_ms.abs();
    let terms = cause.terms.iter().filter(|term| term.difference_ms.abs() >= MIN_TERM * largest).take(MAX_TERMS);
    let terms: Vec<String> = terms.map(|term| format!("{} {}", difference(term.difference_ms), term.name)).collect();
    Some(format!("{}: B - A is {} ms, of which {}", cause.figure, difference(cause.difference_ms), terms.join(", ")))
}

/// Returns a figure with its sign and three digits.
fn difference(value: f64) -> String {
    let digits = three_digits(value.abs());
    match digits.contains(|digit| ('1'..='9').contains(&digit)) {
        true if value < 0.0 => format!("-{digits}"),
        true => format!("+{digits}"),
        false => "0".to_owned(),
    }
}

/// Returns a setting as text.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => count(whole),
            None => number.as_f64().map_or_else(|| number.to_string(), scientific),
        },
        Value::Bool(switch) => switch.to_string(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(","),
        Value::Object(keys) => as_flag(keys).unwrap_or_else(|| {
            let keys = keys.iter().filter(|(_, value)| !value.is_null());
            keys.map(|(key, value)| format!("{key} {}", shown(value))).collect::<Vec<_>>().join(", ")
        }),
    }
}

/// Returns a distribution or prefixes as their flags have them: `lognormal:200,0.8@16..4096`.
fn as_flag(keys: &Map<String, Value>) -> Option<String> {
    let of = |key: &str| keys.get(key).filter(|value| !value.is_null()).map(shown);
    let range = of("min").zip(of("max")).map(|(min, max)| format!("{min}..{max}"));
    let within = range.as_ref().map_or_else(String::new, |range| format!("@{range}"));
    let Some(distribution) = keys.get("distribution").and_then(Value::as_str) else {
        return Some(format!("{}x{}", of("groups")?, of("tokens")?));
    };
    let parameters = match distribution {
        "uniform" => range?,
        "normal" => format!("{},{}{within}", of("mean")?, of("sd")?),
        "lognormal" => format!("{},{}{within}", of("median")?, of("sigma")?),
        "exponential" => of("mean")?,
        "file" => of("path")?,
        _ => return None,
    };
    Some(format!("{distribution}:{parameters}"))
}
