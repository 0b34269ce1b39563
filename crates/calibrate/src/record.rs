//! The runs of a calibration, as the file of its engine keeps them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::constant::Constant;
use crate::residual::{Metric, Residual, Vector};

/// The runs of a calibration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Each run.
    pub runs: Vec<RecordedRun>,
}

/// A run of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRun {
    /// Its file.
    pub source: String,
    /// The keys of its load, as a scenario has them.
    pub load: BTreeMap<String, String>,
    /// Time per output token after the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpot: Option<RecordedFigure>,
    /// Time to the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft: Option<RecordedFigure>,
}

/// A figure of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedFigure {
    /// As measured.
    pub measured_ms: f64,
    /// By the fitted constants.
    pub predicted_ms: f64,
    /// ln(predicted / measured) by the constants before, to first order around the fitted ones.
    pub error: f64,
    /// Derivatives of ln(predicted) by the constants, in units of a calibration; 0 where left out.
    pub slopes: BTreeMap<String, f64>,
}

impl RecordedFigure {
    /// Keeps a figure.
    pub fn new(measured_s: f64, predicted_s: f64, residual: &Residual) -> RecordedFigure {
        let slopes = Constant::ALL.iter().zip(residual.slopes.iter()).filter(|(_, slope)| **slope != 0.0);
        RecordedFigure {
            measured_ms: measured_s * 1e3,
            predicted_ms: predicted_s * 1e3,
            error: residual.error,
            slopes: slopes.map(|(constant, slope)| (constant.name.to_owned(), *slope)).collect(),
        }
    }

    fn residual(&self, metric: Metric) -> Residual {
        let slope = |constant: &Constant| self.slopes.get(constant.name).copied().unwrap_or(0.0);
        Residual { metric, error: self.error, slopes: Vector::from_iterator(Constant::ALL.iter().map(slope)) }
    }
}

impl RecordedRun {
    /// Returns a figure.
    pub fn figure(&self, metric: Metric) -> Option<&RecordedFigure> {
        match metric {
            Metric::Tpot => self.tpot.as_ref(),
            Metric::Ttft => self.ttft.as_ref(),
        }
    }
}

impl Record {
    /// Whether all times are above 0 and finite, and so are all other numbers.
    pub fn is_finite(&self) -> bool {
        let figures = self.runs.iter().flat_map(|run| Metric::ALL.map(|metric| run.figure(metric))).flatten();
        let mut figures = figures.map(|figure| {
            let times = [figure.measured_ms, figure.predicted_ms];
            times.iter().all(|time| *time > 0.0 && time.is_finite())
                && figure.error.is_finite()
                && figure.slopes.values().all(|slope| slope.is_finite())
        });
        figures.all(|is_good| is_good)
    }

    /// Returns the errors of all figures.
    pub fn residuals(&self) -> Vec<Residual> {
        let of_run =
            |run: &RecordedRun| [Metric::Tpot, Metric::Ttft].map(|metric| Some(run.figure(metric)?.residual(metric)));
        self.runs.iter().flat_map(of_run).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_what_the_fit_saw() {
        let residual = |metric, error| {
            let mut slopes = Vector::zeros();
            (slopes[0], slopes[4]) = (0.25, -2.0);
            Residual { metric, error, slopes }
        };
        let rows = [residual(Metric::Tpot, 0.1), residual(Metric::Ttft, -0.2)];
        let [tpot, ttft] = rows.each_ref().map(|row| Some(RecordedFigure::new(0.01, 0.011, row)));
        let run = RecordedRun { source: "a.json".to_owned(), load: BTreeMap::new(), tpot, ttft };
        let mut record = Record { runs: vec![run.clone(), RecordedRun { ttft: None, ..run }] };
        assert_eq!(record.residuals(), [rows[0], rows[1], rows[0]]);
        assert!(record.is_finite());
        record.runs[0].tpot.as_mut().unwrap().measured_ms = 0.0;
        assert!(!record.is_finite());
    }
}
