//! `rooflut watch`: whether a server is as it was when it was calibrated.

use std::path::Path;

use rooflut_calibrate::{Change, Metric, New, Posterior, Record, residuals};
use rooflut_error::Whole;
use rooflut_observe::Fact;
use rooflut_scenario::{Engine, EngineFile, Kind};
use serde::Serialize;

use crate::args::WatchArgs;
use crate::calibrate::{as_file, name_of, priors};
use crate::error::Error;
use crate::loads::{MeasuredLoad, MeasuredLoads};
use crate::observe::write;
use crate::output::{Answered, plural, signed, three_digits, title, to_json, warnings, wrapped_at};
use crate::outputs::{Existing, Outputs};
use crate::{input, measured};

/// Column of the text after its label.
const INDENT: usize = 12;
/// Beginning of the output.
const OF_JUNIT: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"rooflut watch\"";

/// The changes of a calibrated server, as new measurements show them.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WatchedJson {
    /// The calibrated engine.
    engine: String,
    /// Whether it is slower, by TPOT or TTFT.
    slower: bool,
    /// The change of each metric.
    changes: Vec<ChangeJson>,
    /// Remarks on what was measured and left out.
    notes: Vec<String>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ChangeJson {
    metric: &'static str,
    /// The excess of the new measurements over those that were expected, percent.
    change_percent: f64,
    /// Half width within which 95 % of repeats lie, percent.
    half_width_percent: f64,
    slower: bool,
    faster: bool,
    /// New runs.
    runs: usize,
    /// New runs of loads that the calibration has.
    repeats: usize,
    /// The slowdown that such runs show in four of five cases, percent.
    detectable_percent: f64,
}

/// Judges and answers with the text to print; a slower server is a failure.
pub(crate) fn run(args: &WatchArgs) -> Result<Answered, Error> {
    let inputs = args.measured.files.iter().chain([&args.calibrated]).map(|path| (path.clone(), "is an input"));
    let mut outputs = Outputs::new(inputs.collect(), Existing::from(args.force));
    let junit = args.junit.as_deref().map(|path| outputs.open(path, OF_JUNIT)).transpose()?;
    let (engine, record) = calibrated(&args.calibrated)?;
    let mut measured = measured::read(&args.measured)?;
    let version = measured.deployment.remove("engine");
    if version.as_ref().is_some_and(Fact::is_given) {
        let text = "--engine: expected none, as the calibrated file names the engine; leave it out";
        return Err(Error::new(text).about("engine"));
    }
    let (mut given, _) = args.measured.given()?;
    given.target.engine = Some(as_file(&args.calibrated));
    measured.give(&given)?;
    args.untrusted.check_measured(&args.measured.files, &measured, &given)?;
    let mut loads = MeasuredLoads::of(&measured)?;
    if let Some(mismatch) = engine.mismatch(&loads.scenario.target) {
        return Err(Error::new(format!("{mismatch}; give runs of the same server")));
    }
    loads.leave_out(|load| is_of_calibration(&record, load), "it is a run of the calibration itself")?;
    let posterior = Posterior::new(&priors()?, &record.residuals());
    let times = loads.times();
    let rows = residuals(engine.stack, &times, |stack| loads.predict(stack))?;
    let changes = Metric::ALL.into_iter().filter_map(|metric| {
        let mut repeats = 0;
        let of_metric = rows.iter().filter(|(_, row)| row.metric == metric);
        let new = of_metric.map(|(run, row)| {
            let since = since(&record, &loads, *run, metric);
            repeats += usize::from(since.is_some());
            New { load: loads.first_alike(*run), residual: *row, since }
        });
        let new: Vec<New> = new.collect();
        Some((metric, Change::of(metric, &new, &posterior)?, repeats))
    });
    let changes = changes.map(|(metric, change, repeats)| ChangeJson::new(metric, &change, repeats));
    let other_version =
        version.filter(|version| Some(version.value.as_str().unwrap_or_default()) != engine.stack.inherits);
    let other_version = other_version.map(|version| {
        let (found, inherited) =
            (version.value.as_str().unwrap_or_default(), engine.stack.inherits.unwrap_or_default());
        format!("the new runs are of {found}, the calibration is of {inherited}")
    });
    let notes = measured.notes.iter().chain(&loads.notes).cloned().chain(other_version).collect();
    let changes: Vec<ChangeJson> = changes.collect();
    if changes.is_empty() {
        return Err(Error::new("expected TPOT or TTFT of a load, found neither; add the results of a benchmark"));
    }
    let slower = changes.iter().any(|change| change.slower);
    let watched = WatchedJson { engine: engine.stack.name.to_owned(), slower, changes, notes };
    if let Some(file) = junit {
        write(file, args.junit.as_deref(), &watched.junit())?;
    }
    let text = if args.json { to_json(&watched)? } else { watched.text() };
    let failure = slower.then(|| Error::of(Kind::NotMet, watched.slowdowns()));
    Ok(Answered { text, failure })
}

/// Reads a calibrated engine, and the runs that it was fitted to.
fn calibrated(path: &Path) -> Result<(Engine, Record), Error> {
    let bytes = input::read(path, Whole::Engine).map_err(Error::reading(path))?;
    let engine = Engine::read(path, &bytes)?;
    let file = EngineFile::read(&bytes).map_err(|error| error.in_file(path))?;
    let Some(calibration) = file.calibration else {
        let text = "expected an engine that `rooflut calibrate` wrote, found one without [calibration]; calibrate it";
        return Err(Error::in_file(path, None, text));
    };
    let record: Record = calibration.try_into().map_err(|error: toml::de::Error| {
        Error::in_file(path, None, format!("calibration: {}; write it again with `rooflut calibrate`", error.message()))
    })?;
    if !record.is_finite() {
        let text = "calibration: expected times above 0 and finite numbers, found others; write it again with `rooflut \
                    calibrate`";
        return Err(Error::in_file(path, None, text));
    }
    Ok((engine, record))
}

/// Whether a load is a run of the calibration, by the digits of its figures.
fn is_of_calibration(record: &Record, load: &MeasuredLoad) -> bool {
    record.runs.iter().any(|run| {
        let is_equal = |metric: Metric| {
            let former = run.figure(metric).map(|figure| figure.measured_ms);
            former.is_some_and(|former| load.time(metric).is_some_and(|time| (1e3 * time / former - 1.0).abs() < 1e-12))
        };
        run.load == load.keys && Metric::ALL.into_iter().all(is_equal)
    })
}

/// Returns ln(new / mean of the calibration's) of a load that the calibration has.
fn since(record: &Record, loads: &MeasuredLoads, run: usize, metric: Metric) -> Option<f64> {
    let load = loads.loads.get(run)?;
    let former = record.runs.iter().filter(|former| former.load == load.keys);
    let former: Vec<f64> = former.filter_map(|former| Some(former.figure(metric)?.measured_ms)).collect();
    let mean = former.iter().sum::<f64>() / former.len() as f64;
    (!former.is_empty()).then_some((1e3 * load.time(metric)? / mean).ln())
}

impl ChangeJson {
    fn new(metric: Metric, change: &Change, repeats: usize) -> ChangeJson {
        let percent = |logarithm: f64| 100.0 * logarithm.exp_m1();
        ChangeJson {
            metric: name_of(metric),
            change_percent: percent(change.change),
            half_width_percent: percent(change.half_width()),
            slower: change.is_slower(),
            faster: change.is_faster(),
            runs: change.runs,
            repeats,
            detectable_percent: percent(change.detectable()),
        }
    }

    /// `decode steps are 12 % slower than this server was (±3 % is chance)`.
    fn verdict(&self) -> String {
        let name = if self.metric == "tpot" { "decode steps" } else { "prompts" };
        let chance = format!("±{} % is chance", three_digits(self.half_width_percent));
        let by = three_digits(self.change_percent.abs());
        match (self.slower, self.faster) {
            (true, _) => format!("{name} are {by} % slower than this server was ({chance})"),
            (_, true) => format!("{name} are {by} % faster than this server was ({chance}): calibrate it again"),
            _ => format!("{name} are as before: {} % ({chance})", signed(self.change_percent)),
        }
    }

    /// `2 runs with calibrated loads; a slowdown of 8.8 % or more is detected in four of five cases`.
    fn basis(&self) -> String {
        let runs = plural(self.runs as u64, "run");
        let of = match self.repeats {
            0 => format!("{runs} with loads that were not calibrated"),
            all if all == self.runs => format!("{runs} with calibrated loads"),
            some => format!("{runs}, {some} with calibrated loads"),
        };
        let enough = match self.repeats {
            0 => "a run with a calibrated load would detect a smaller one",
            _ => "more runs on the same day would not detect a smaller one",
        };
        let by = three_digits(self.detectable_percent);
        format!("{of}; a slowdown of {by} % or more is detected in four of five cases; {enough}")
    }
}

impl WatchedJson {
    fn slowdowns(&self) -> String {
        let slower = self.changes.iter().filter(|change| change.slower);
        slower.map(ChangeJson::verdict).collect::<Vec<_>>().join(", ")
    }

    fn text(&self) -> String {
        let mut text = title(&format!("{} since it was calibrated", self.engine));
        text += &warnings(INDENT, &self.notes);
        for change in &self.changes {
            let metric = change.metric.to_uppercase();
            text += &wrapped_at(INDENT, &metric, &change.verdict());
            text += &wrapped_at(INDENT, "", &change.basis());
        }
        text
    }

    /// Returns the decisions as JUnit XML.
    fn junit(&self) -> String {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let failures = self.changes.iter().filter(|change| change.slower).count();
        let mut xml = format!(
            "{} tests=\"{}\" failures=\"{failures}\">\n",
            str::from_utf8(OF_JUNIT).unwrap_or_default(),
            self.changes.len()
        );
        for change in &self.changes {
            let (engine, metric) = (escaped(&self.engine), change.metric);
            xml += &format!("  <testcase classname=\"{engine}\" name=\"{metric}\">\n");
            let verdict = escaped(&change.verdict());
            if change.slower {
                xml += &format!("    <failure message=\"{verdict}\"/>\n");
            }
            xml += &format!("    <system-out>{verdict}; {}</system-out>\n  </testcase>\n", escaped(&change.basis()));
        }
        xml + "</testsuite>\n"
    }
}
