//! The file of a calibrated engine.

use std::collections::BTreeMap;

use rooflut::engine::{self, EngineStack};
use rooflut_calibrate::{Calibration, Constant, EIGHTY, Metric, Record, RecordedFigure, RecordedRun};
use rooflut_scenario::{EngineFile, FileConstant};

use crate::error::Error;
use crate::loads::{MeasuredLoad, MeasuredLoads};
use crate::output::scientific;

/// Mean absolute value of a Laplace distribution whose 80 % interval is that of a normal one of deviation 1: its quantile
/// is ln 5.
const LAPLACE: f64 = EIGHTY / 1.609_437_912_434_100_3;
/// Mean absolute differences of TPOT and TTFT between two equal servers, which intervals have beside the errors of a stack
/// ([`EngineStack::ttft_half_width`]).
const TWO_SERVERS: [f64; 2] = [0.01, 0.02];

/// Returns the file of a calibrated engine.
pub(super) fn of(
    name: &str,
    shipped: &EngineStack,
    calibration: &Calibration,
    loads: &MeasuredLoads,
) -> Result<EngineFile, Error> {
    let mut constants = BTreeMap::new();
    for (constant, fitted) in
        Constant::ALL.iter().zip(&calibration.constants).filter(|(_, fitted)| fitted.is_determined())
    {
        for field in constant.fields {
            let [value, before] = [field.value(&calibration.stack), field.value(shipped)];
            let Some(unit) = Unit::of(field.name).filter(|_| value.to_bits() != before.to_bits()) else { continue };
            let interval = (field.name == constant.name).then(|| fitted.interval.map(|end| unit.of_seconds(end)));
            let run = fitted.run.and_then(|run| loads.loads.get(run)).map_or("", |load| load.source.as_str());
            let before = format!("{} has {} {}", shipped.name, unit.shown(before), unit.name);
            let source = match field.name == constant.name {
                true => format!("fitted, mostly from {run}; {before}"),
                false => format!("moves with {}; {before}", constant.name),
            };
            let value = unit.of_seconds(value);
            constants.insert(
                field.name.to_owned(),
                FileConstant { value, unit: unit.name.to_owned(), interval, source: Some(source) },
            );
        }
    }
    let [tpot, ttft] = calibration.deviations.map(|deviation| LAPLACE * deviation);
    let [of_tpot, of_ttft] = TWO_SERVERS;
    // Errors of steps are those of TTFT, too.
    let ttft = (ttft * ttft - tpot * tpot - of_ttft * of_ttft).max(0.0).sqrt();
    let tpot = (tpot * tpot - of_tpot * of_tpot).max(0.0).sqrt();
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
    let run = |(index, load): (usize, &MeasuredLoad)| {
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
pub(super) struct Unit {
    pub(super) name: &'static str,
    seconds: f64,
}

impl Unit {
    /// Returns the unit in which the built-in stacks have a constant.
    pub(super) fn of(constant: &str) -> Option<Unit> {
        let mut all = engine::stacks::ALL.into_iter().flat_map(|stack| stack.about);
        let name = all.find(|known| known.name == constant)?.unit;
        let units = [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)];
        let seconds = units.iter().find(|(unit, _)| *unit == name).map_or(1.0, |(_, seconds)| *seconds);
        Some(Unit { name, seconds })
    }

    /// Converts a value, to six digits.
    pub(super) fn of_seconds(self, value: f64) -> f64 {
        format!("{:.5e}", value / self.seconds).parse().unwrap_or(value / self.seconds)
    }

    pub(super) fn shown(self, value: f64) -> String {
        scientific(self.of_seconds(value))
    }
}
