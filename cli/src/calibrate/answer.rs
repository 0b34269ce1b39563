//! The answer of a calibration, as text and as JSON.

use std::collections::BTreeMap;

use rooflut::engine::EngineStack;
use rooflut_calibrate::{Calibration, Fitted, Row};
use serde::Serialize;

use crate::args::CalibrateArgs;
use crate::error::Error;
use crate::grid::Grid;
use crate::loads::{MeasuredLoads, in_words};
use crate::next;
use crate::output::{plural, signed, three_digits, title, to_json, warnings, wrapped_at};

use super::engine_file::Unit;
use super::{as_file, name_of};

/// Column of the text after its label.
const INDENT: usize = 12;

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
    uncertainty_ratio: f64,
    /// Whether the runs determine it; otherwise it stays as shipped.
    fitted: bool,
    /// The run that determines most of it, from 1.
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

/// The answer.
pub(super) struct Answer<'a> {
    pub(super) args: &'a CalibrateArgs,
    pub(super) name: String,
    pub(super) stack: &'static EngineStack,
    pub(super) loads: &'a MeasuredLoads,
    pub(super) calibration: &'a Calibration,
    pub(super) next: Vec<next::NextJson>,
    pub(super) notes: Vec<String>,
}

impl Answer<'_> {
    pub(super) fn json(self) -> Result<String, Error> {
        let constant = |fitted: &Fitted| {
            let unit = Unit::of(fitted.name)?;
            let [low, high] = fitted.interval.map(|end| unit.of_seconds(end));
            Some(ConstantJson {
                name: fitted.name,
                unit: unit.name,
                shipped: unit.of_seconds(fitted.shipped),
                value: unit.of_seconds(fitted.value),
                low,
                high,
                uncertainty_ratio: fitted.left,
                fitted: fitted.is_determined(),
                run: self.number_of(fitted),
            })
        };
        to_json(&CalibratedJson {
            constants: self.calibration.constants.iter().filter_map(constant).collect(),
            figures: self.figures(),
            name: self.name,
            inherits: self.stack.name,
            fitted_to: self.loads.scenario.target.identity(),
            next: self.next,
            notes: self.notes,
        })
    }

    /// Returns the number of the run that determines most of a constant.
    fn number_of(&self, fitted: &Fitted) -> Option<usize> {
        fitted.run.and_then(|run| self.loads.loads.get(run)).map(|load| load.number)
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

    pub(super) fn text(&self) -> String {
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
        let mut grid = Grid::new("constant | unit | >shipped | >fitted | 80 % interval | mostly from");
        let (determined, others): (Vec<&Fitted>, Vec<&Fitted>) =
            self.calibration.constants.iter().partition(|fitted| fitted.is_determined());
        for fitted in determined {
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
        let others: Vec<&str> = others.iter().map(|fitted| fitted.name).collect();
        if !others.is_empty() {
            let text_of = format!("{}: the runs do not determine them", others.join(", "));
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
