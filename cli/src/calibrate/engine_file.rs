//! The file of a calibrated engine.

use std::collections::BTreeMap;

use rooflut::engine::{self, EngineStack};
use rooflut_calibrate::{Calibration, Constant, ERRORS, Metric, Record, RecordedFigure, RecordedRun};
use rooflut_scenario::{EngineFile, FileConstant, seconds_of};

use crate::error::Error;
use crate::loads::{MeasuredLoad, MeasuredLoads};
use crate::output::scientific;

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
    for field in ERRORS {
        let Some(unit) = Unit::of(field.name) else { continue };
        let (value, unit) = (field.value(&calibration.stack), unit.name.to_owned());
        let source = Some("expected error of predictions of other loads of this server".to_owned());
        constants.insert(field.name.to_owned(), FileConstant { value, unit, interval: None, source });
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
        Some(Unit { name, seconds: seconds_of(name).unwrap_or(1.0) })
    }

    /// Converts a value, to six digits.
    pub(super) fn of_seconds(self, value: f64) -> f64 {
        format!("{:.5e}", value / self.seconds).parse().unwrap_or(value / self.seconds)
    }

    pub(super) fn shown(self, value: f64) -> String {
        scientific(self.of_seconds(value))
    }
}
