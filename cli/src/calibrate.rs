//! `rooflut calibrate`: the constants of an engine, fitted to a server.

use std::collections::BTreeMap;
use std::path::Path;

use rooflut::engine::{self, EngineStack};
use rooflut_calibrate::{
    Calibration, Constant, Fitted, Metric, Posterior, Priors, Record, RecordedFigure, RecordedRun, Row, calibrate,
};
use rooflut_scenario::{EngineFile, FileConstant, ScenarioFile};
use serde::Serialize;

use crate::args::CalibrateArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::loads::{MeasuredLoads, in_words};
use crate::observe::write;
use crate::output::{plural, scientific, signed, three_digits, title, to_json, warnings, wrapped_at};
use crate::outputs::{Existing, Outputs};
use crate::{input, measured, next};

/// Column of the text after its label.
const INDENT: usize = 12;
/// Beginnings of the outputs.
const OF_ENGINE: &[u8] = b"# Written by `rooflut calibrate`";
const OF_SCENARIO: &[u8] = b"# As calibrated: ";
/// Name of an engine without a file.
const UNNAMED: &str = "calibrated";
/// Mean absolute value of a Laplace distribution whose 80 % interval is that of a normal one of deviation 1.
const LAPLACE: f64 = 1.281_551_565_544_600_4 / 1.609_437_912_434_100_3;

/// A calibrated engine.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CalibratedJson {
    /// Its name.
    name: String,
    /// The stack of which it has everything else.
    inherits: &'static str,
    /// The server that was measured.
    fitted_to: BTreeMap<String, String>,
    /// The constants.
    constants: Vec<ConstantJson>,
    /// The figures of the runs.
    figures: Vec<FigureJson>,
    /// Loads to measure next.
    next: Vec<next::NextJson>,
    /// Remarks on what was measured and left out.
    notes: Vec<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ConstantJson {
    name: &'static str,
    unit: &'static str,
    shipped: f64,
    value: f64,
    low: f64,
    high: f64,
    /// Its uncertainty as a share of the one without these runs.
    left: f64,
    /// Whether the runs tell it; otherwise it stays as shipped.
    told: bool,
    /// The run that tells most of it, from 1.
    run: Option<usize>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FigureJson {
    /// The run, from 1.
    run: usize,
    source: String,
    load: BTreeMap<String, String>,
    metric: &'static str,
    measured_ms: f64,
    /// Error of the prediction in percent: as shipped.
    before_percent: f64,
    /// As calibrated.
    after_percent: f64,
    /// As calibrated on the other runs; null for the only one.
    left_out_percent: Option<f64>,
}

/// Calibrates and answers with the text to print.
pub(crate) fn run(args: &CalibrateArgs) -> Result<String, Error> {
    let inputs = args.measured.files.iter().chain(&args.next_for).map(|path| (path.clone(), "is an input"));
    let mut outputs = Outputs::new(inputs.collect(), Existing::from(args.force));
    let mut open = |path: Option<&Path>, first: &[u8]| path.map(|path| outputs.open(path, first)).transpose();
    let out = open(args.out.as_deref(), OF_ENGINE)?;
    let scenario_out = open(args.scenario_out.as_deref(), OF_SCENARIO)?;
    let measured = measured::read(&args.measured)?;
    let loads = MeasuredLoads::of(&measured)?;
    let target = &loads.scenario.target;
    if let Some(path) = target.engine_file() {
        let text = format!(
            "{}: expected the engine of the server's version, as in vllm-0.18.0, found a calibrated one; its runs can \
             be given again",
            path.display()
        );
        return Err(Error::new(text).about("engine"));
    }
    let stack = target.find_engine(&input::open)?.stack;
    let priors = priors()?;
    let calibration = calibrate(stack, &loads.times(), &priors, |stack| loads.predict(stack))?;
    let stem = args.out.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    let name = args.name.clone().or(stem).unwrap_or_else(|| UNNAMED.to_owned());
    let next = match args.next {
        Some(count) => {
            let rows: Vec<_> = calibration.rows.iter().map(|row| row.residual).collect();
            let posterior = Posterior::new(&priors, &rows);
            let asked = args.next_for.as_deref().map(scenario_of).transpose()?;
            next::loads(&calibration, &posterior, &loads, asked, usize::from(count))?
        }
        None => Vec::new(),
    };
    if let Some(file) = out {
        let engine = engine_file(&name, stack, &calibration, &loads)?;
        let text = format!(
            "{} from {}.\n{}",
            str::from_utf8(OF_ENGINE).unwrap_or_default(),
            sources(&loads),
            engine.to_toml()?
        );
        write(file, args.out.as_deref(), &text)?;
    }
    if let (Some(file), Some(engine)) = (scenario_out, &args.out) {
        let mut scenario = loads.scenario.clone();
        scenario.target.engine = Some(as_file(engine));
        let text =
            format!("{}{}\n{}", str::from_utf8(OF_SCENARIO).unwrap_or_default(), sources(&loads), scenario.to_toml()?);
        write(file, args.scenario_out.as_deref(), &text)?;
    }
    let notes = measured.notes.iter().chain(&loads.notes).cloned().collect();
    let answer = Answer { args, name, stack, loads: &loads, calibration: &calibration, next, notes };
    if args.json { answer.json() } else { Ok(answer.text()) }
}

/// Returns the priors that come with the program.
pub(crate) fn priors() -> Result<Priors, Error> {
    Priors::shipped().ok_or_else(|| Error::new("the built-in priors of calibrations are damaged"))
}

fn scenario_of(path: &Path) -> Result<rooflut_scenario::Scenario, Error> {
    let bytes = input::read(path).map_err(Error::reading(path))?;
    let file = ScenarioFile::read(&bytes).map_err(|error| error.in_file(path))?;
    Ok(file.scenario().clone())
}

fn sources(loads: &MeasuredLoads) -> String {
    let mut sources: Vec<&str> = loads.loads.iter().map(|load| load.source.as_str()).collect();
    sources.dedup();
    sources.join(", ").replace(['\n', '\r'], " ")
}

/// Returns the path of a file as the value of `engine`, where a name without a folder or an extension is no path.
fn as_file(path: &Path) -> String {
    let text = path.display().to_string();
    if rooflut_scenario::names_file(&text) { text } else { format!("./{text}") }
}

/// Returns the file of a calibrated engine.
fn engine_file(
    name: &str,
    shipped: &EngineStack,
    calibration: &Calibration,
    loads: &MeasuredLoads,
) -> Result<EngineFile, Error> {
    let mut constants = BTreeMap::new();
    for (constant, fitted) in Constant::ALL.iter().zip(&calibration.constants).filter(|(_, fitted)| fitted.is_told()) {
        for field in constant.fields {
            let [value, before] = [field.value(&calibration.stack), field.value(shipped)];
            let Some(unit) = Unit::of(field.name).filter(|_| value.to_bits() != before.to_bits()) else { continue };
            let interval = (field.name == constant.name).then(|| fitted.interval.map(|end| unit.of_seconds(end)));
            let run = fitted.run.and_then(|run| loads.loads.get(run)).map_or("", |load| load.source.as_str());
            let source =
                format!("fitted; {} of {} in {}; {run} tells most of it", unit.shown(before), unit.name, shipped.name);
            let value = unit.of_seconds(value);
            constants.insert(
                field.name.to_owned(),
                FileConstant { value, unit: unit.name.to_owned(), interval, source: Some(source) },
            );
        }
    }
    let [tpot, ttft] = calibration.deviations.map(|deviation| LAPLACE * deviation);
    let errors = [
        ("lookup_error_share", 0.0),
        ("step_error", tpot),
        ("other_step_error", tpot),
        ("first_token_error", ttft),
        ("other_first_token_error", ttft),
    ];
    for (name, value) in errors {
        let Some(unit) = Unit::of(name) else { continue };
        let source = "expected error of predictions of other loads of this server".to_owned();
        constants.insert(
            name.to_owned(),
            FileConstant { value, unit: unit.name.to_owned(), interval: None, source: Some(source) },
        );
    }
    let record = toml::Table::try_from(record(calibration, loads)).map_err(|error| Error::new(error.to_string()))?;
    Ok(EngineFile {
        name: name.to_owned(),
        description: Some(format!("{}, calibrated", shipped.description)),
        inherits: shipped.name.to_owned(),
        fitted_to: loads.scenario.target.identity(),
        constants,
        calibration: Some(record),
    })
}

fn record(calibration: &Calibration, loads: &MeasuredLoads) -> Record {
    let run = |(index, load): (usize, &crate::loads::MeasuredLoad)| {
        let figure = |metric: Metric| {
            let row = calibration.rows.iter().find(|row| row.run == index && row.residual.metric == metric)?;
            let measured = load.time(metric)?;
            Some(RecordedFigure::new(measured, measured * row.after.exp(), &row.residual))
        };
        RecordedRun {
            source: load.source.clone(),
            load: load.keys.clone(),
            tpot: figure(Metric::Tpot),
            ttft: figure(Metric::Ttft),
        }
    };
    Record { runs: loads.loads.iter().enumerate().map(run).collect() }
}

/// The unit in which a constant is shown.
#[derive(Clone, Copy)]
struct Unit {
    name: &'static str,
    seconds: f64,
}

impl Unit {
    fn of(constant: &str) -> Option<Unit> {
        let mut all = engine::stacks::ALL.into_iter().flat_map(|stack| stack.about);
        let name = all.find(|known| known.name == constant)?.unit;
        let units = [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
        let seconds = units.iter().find(|(unit, _)| *unit == name).map_or(1.0, |(_, seconds)| *seconds);
        Some(Unit { name, seconds })
    }

    /// Converts a value, to six digits.
    fn of_seconds(self, value: f64) -> f64 {
        format!("{:.5e}", value / self.seconds).parse().unwrap_or(value / self.seconds)
    }

    fn shown(self, value: f64) -> String {
        scientific(self.of_seconds(value))
    }
}

/// What is answered.
struct Answer<'a> {
    args: &'a CalibrateArgs,
    name: String,
    stack: &'static EngineStack,
    loads: &'a MeasuredLoads,
    calibration: &'a Calibration,
    next: Vec<next::NextJson>,
    notes: Vec<String>,
}

impl Answer<'_> {
    fn json(self) -> Result<String, Error> {
        let constant = |fitted: &Fitted| {
            let unit = Unit::of(fitted.name).unwrap_or(Unit { name: "s", seconds: 1.0 });
            let [low, high] = fitted.interval.map(|end| unit.of_seconds(end));
            ConstantJson {
                name: fitted.name,
                unit: unit.name,
                shipped: unit.of_seconds(fitted.shipped),
                value: unit.of_seconds(fitted.value),
                low,
                high,
                left: fitted.left,
                told: fitted.is_told(),
                run: fitted.run.map(|run| run + 1),
            }
        };
        to_json(&CalibratedJson {
            constants: self.calibration.constants.iter().map(constant).collect(),
            figures: self.figures(),
            name: self.name,
            inherits: self.stack.name,
            fitted_to: self.loads.scenario.target.identity(),
            next: self.next,
            notes: self.notes,
        })
    }

    fn figures(&self) -> Vec<FigureJson> {
        let percent = |error: f64| 100.0 * (error.exp() - 1.0);
        let figure = |row: &Row| {
            let load = self.loads.loads.get(row.run)?;
            let metric = row.residual.metric;
            Some(FigureJson {
                run: load.number,
                source: load.source.clone(),
                load: load.keys.clone(),
                metric: name_of(metric),
                measured_ms: 1e3 * load.time(metric)?,
                before_percent: percent(row.before),
                after_percent: percent(row.after),
                left_out_percent: row.left_out.map(percent),
            })
        };
        self.calibration.rows.iter().filter_map(figure).collect()
    }

    fn text(&self) -> String {
        let mut text =
            title(&format!("{} calibrated on {}", self.stack.name, plural(self.loads.loads.len() as u64, "load")));
        text += &warnings(INDENT, &self.notes);
        let server = self.loads.scenario.target.identity();
        let server: Vec<String> = server.iter().map(|(key, value)| format!("{key} {value}")).collect();
        text += &wrapped_at(INDENT, "server", &server.join(", "));
        if let Some(path) = &self.args.out {
            text +=
                &wrapped_at(INDENT, "written", &format!("{0}; every command takes it: --engine {0}", as_file(path)));
        }
        let mut grid = Grid::new("constant | unit | >shipped | >fitted | 80 % interval | told by");
        let (told, untold): (Vec<&Fitted>, Vec<&Fitted>) =
            self.calibration.constants.iter().partition(|fitted| fitted.is_told());
        for fitted in told {
            let Some(unit) = Unit::of(fitted.name) else { continue };
            let run = fitted.run.and_then(|run| self.loads.loads.get(run));
            let [low, high] = fitted.interval.map(|end| three_digits(unit.of_seconds(end)));
            grid.row(vec![
                fitted.name.to_owned(),
                unit.name.to_owned(),
                unit.shown(fitted.shipped),
                three_digits(unit.of_seconds(fitted.value)),
                format!("{low} to {high}"),
                run.map_or_else(String::new, |load| format!("run {}, {}", load.number, load.source)),
            ]);
        }
        if !grid.is_empty() {
            text += &format!("\n{}", grid.render(2));
        }
        let untold: Vec<&str> = untold.iter().map(|fitted| fitted.name).collect();
        if !untold.is_empty() {
            let text_of = format!("{}: the runs do not tell them", untold.join(", "));
            text += &format!("\n{}", wrapped_at(INDENT, "unchanged", &text_of));
        }
        let caption = "of the predictions: with the shipped constants, with the fitted ones, and with those fitted to the \
                       other runs";
        text += &format!("\n{}{}", wrapped_at(INDENT, "errors", caption), self.errors().render(2));
        text + &next::text(&self.next)
    }

    /// Returns the errors of the runs, and their means.
    fn errors(&self) -> Grid {
        let mut grid = Grid::new("run | load | figure | >ms | >shipped | >fitted | >left out");
        let figures = self.figures();
        let shown = |percent: f64| format!("{} %", signed(percent));
        for figure in &figures {
            grid.row(vec![
                figure.run.to_string(),
                in_words(&figure.load),
                figure.metric.to_uppercase(),
                three_digits(figure.measured_ms),
                shown(figure.before_percent),
                shown(figure.after_percent),
                figure.left_out_percent.map_or_else(|| "-".to_owned(), shown),
            ]);
        }
        for metric in ["tpot", "ttft"] {
            let of_metric: Vec<&FigureJson> = figures.iter().filter(|figure| figure.metric == metric).collect();
            let mean = |error: fn(&FigureJson) -> Option<f64>| {
                let errors: Vec<f64> = of_metric.iter().filter_map(|figure| Some(error(figure)?.abs())).collect();
                let count = errors.len() as f64;
                if count > 0.0 {
                    format!("{} %", three_digits(errors.iter().sum::<f64>() / count))
                } else {
                    "-".to_owned()
                }
            };
            if of_metric.len() > 1 {
                grid.row(vec![
                    String::new(),
                    "mean error".to_owned(),
                    metric.to_uppercase(),
                    String::new(),
                    mean(|figure| Some(figure.before_percent)),
                    mean(|figure| Some(figure.after_percent)),
                    mean(|figure| figure.left_out_percent),
                ]);
            }
        }
        grid
    }
}

/// Returns the name of a metric in JSON.
pub(crate) fn name_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Tpot => "tpot",
        Metric::Ttft => "ttft",
    }
}
