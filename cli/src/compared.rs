//! `rooflut compare MEASURED [SCENARIO]`: a measured load beside its prediction.

use std::path::{Path, PathBuf};

use rooflut::interval::Coverage;
use rooflut_error::{JsonSize, Whole};
use rooflut_observe::{Compared, Figure, File, Measured};
use rooflut_scenario::{Scenario, ScenarioFile};
use rooflut_traces::Measurement;
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{CompareArgs, RunArgs};
use crate::error::Error;
use crate::grid::Grid;
use crate::output::{signed, three_digits, title, to_json, warnings, wrapped_at};
use crate::{input, measured, run};

/// Column of the text after its label.
const INDENT: usize = 12;
/// Maximum size of a report in memory, MiB.
const MAX_MIB: u64 = 256;

/// A measured load beside its prediction.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ComparedJson {
    /// The file of the measurement.
    measured: PathBuf,
    /// The prediction: the model and its GPUs.
    predicted: String,
    #[serde(flatten)]
    compared: Compared,
}

/// Reads what was measured: the JSON of `rooflut observe`, or a file that it reads; `None` for other files.
pub(crate) fn measured(path: &Path, bytes: &[u8]) -> Result<Option<Measured>, Error> {
    if let Some(measured) = measured::of_json(path, bytes)? {
        return Ok(Some(measured));
    }
    match Measurement::detect(bytes) {
        Ok(Some(_)) => {
            let file = File { name: &path.display().to_string(), bytes };
            let measured = Measured::read(&[file], &Scenario::default());
            measured.map(Some).map_err(|error| error.in_file(path).into())
        }
        _ => Ok(None),
    }
}

/// Compares a measured load with a scenario or report, or with the scenario that the measurement itself tells.
pub(crate) fn answer(args: &CompareArgs, measured: &Measured) -> Result<String, Error> {
    if args.html.html.is_some() {
        return Err(Error::new("--html shows two runs, not a measurement; leave it out"));
    }
    let index = match (args.run, measured.runs.len()) {
        (None, loads) if loads > 1 => {
            return Err(Error::new(format!(
                "{} has {loads} loads; choose one with --run 1 to {loads}",
                args.a.display()
            )));
        }
        (Some(0), _) => return Err(Error::new("--run: expected a number of at least 1, found 0")),
        (run, _) => run.unwrap_or(1) - 1,
    };
    let report = match &args.b {
        Some(path) => predicted(args, path)?,
        None => simulated(RunArgs::of_scenario(scenario(args, measured, index)?))?,
    };
    let compared = measured.compared(index, &report).map_err(|error| error.in_file(&args.a))?;
    let title = |key: &str| report.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let predicted = format!("{} on {} {}", title("model"), report.get("gpus").unwrap_or(&json!("?")), title("gpu"));
    match args.json {
        true => to_json(&ComparedJson { measured: args.a.clone(), predicted, compared }),
        false => {
            let of_prediction = report.get("notes").and_then(Value::as_array).into_iter().flatten();
            let notes = measured.notes.iter().map(String::as_str).chain(of_prediction.filter_map(Value::as_str));
            Ok(text(args, notes, &predicted, &compared))
        }
    }
}

/// Returns the scenario that a measurement itself tells.
fn scenario(args: &CompareArgs, measured: &Measured, index: usize) -> Result<Scenario, Error> {
    let file = args.a.display();
    let whole = |text: &str| {
        format!("{text} to `rooflut observe {file} --out measured.json` and compare measured.json, or give a scenario")
    };
    let scenario = measured.scenario(index);
    let scenario = scenario.map_err(|error| if measured.is_complete() { error } else { error.map(whole) })?;
    args.untrusted.check(&args.a, &scenario)?;
    Ok(scenario)
}

/// Reads a report, or a scenario and simulates it.
fn predicted(args: &CompareArgs, path: &Path) -> Result<Value, Error> {
    let bytes = input::read(path, Whole::Report).map_err(Error::reading(path))?;
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        JsonSize::VALUES.check(&bytes, MAX_MIB).map_err(|error| error.in_file(path))?;
        return serde_json::from_slice(&bytes).map_err(|error| {
            Error::in_file(path, None, format!("expected the report of a run: {error}; write it again"))
        });
    }
    let file = ScenarioFile::read(&bytes).map_err(|error| error.in_file(path))?;
    simulated(RunArgs::of_file(path, file, args.untrusted)?)
}

fn simulated(mut args: RunArgs) -> Result<Value, Error> {
    args.scenario.output.interval = Some(Coverage::default());
    let report = run::report(&args).map_err(|error| args.place(error))?;
    serde_json::to_value(&report).map_err(|error| Error::new(error.to_string()))
}

fn text<'n>(args: &CompareArgs, notes: impl Iterator<Item = &'n str>, predicted: &str, compared: &Compared) -> String {
    let mut text = title("A measured load beside its prediction");
    text += &wrapped_at(INDENT, "measured", &args.a.display().to_string());
    let scenario = args.b.as_ref().map_or_else(String::new, |path| format!(" ({})", path.display()));
    text += &wrapped_at(INDENT, "predicted", &format!("{predicted}{scenario}"));
    text += &warnings(INDENT, notes);
    let interval = compared.coverage.map_or("interval".to_owned(), |share| format!("{:.0} % interval", 100.0 * share));
    let mut grid = Grid::new(&format!("figure | unit | >measured | >predicted | >% | >{interval} | inside"));
    for figure in &compared.figures {
        grid.row(cells(figure));
    }
    text += &format!("\n{}", grid.render(2));
    let terms = compared.terms.iter().map(|term| format!("{} ms {}", signed(term.difference_ms), term.name));
    let terms: Vec<String> = terms.collect();
    let why = (!terms.is_empty()).then(|| format!("E2E mean, predicted less measured: {}", terms.join(", ")));
    let whys: String = why.iter().chain(&compared.remarks).map(|why| wrapped_at(INDENT, "why", why)).collect();
    if whys.is_empty() { text } else { format!("{text}\n{whys}") }
}

fn cells(figure: &Figure) -> Vec<String> {
    let Figure { name, unit, measured, predicted, error_percent, low, high, is_inside, .. } = figure;
    let interval = low.zip(*high).map(|(low, high)| format!("{} .. {}", three_digits(low), three_digits(high)));
    let inside = is_inside.map(|inside| if inside { "yes" } else { "NO" });
    vec![
        name.clone(),
        (*unit).to_owned(),
        three_digits(*measured),
        three_digits(*predicted),
        signed(*error_percent),
        interval.unwrap_or_else(|| "-".to_owned()),
        inside.unwrap_or("-").to_owned(),
    ]
}
