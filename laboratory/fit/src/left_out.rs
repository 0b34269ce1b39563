//! Predictions of each model family by constants that its rows did not fit.

use std::fmt::Write as _;

use nalgebra::{DMatrix, DVector};
use rooflut::interval::Coverage;
use rooflut_validation::{Case, Comparison, Kind, Metric, Stage};

use crate::parameters::{Engines, PARAMETERS};
use crate::problem::{Problem, family};
use crate::solve::{DERIVATIVE_STEP, covariance};

/// Returns the cases of the problem, each predicted with the constants of the files after one Gauss-Newton step to the
/// rows of all other families, to first order in that step. Families without which the constants are not determined
/// are left out.
///
/// A fit from scratch for each family (`rooflut-fit`) takes a hundred times as long.
pub fn left_out(problem: &Problem) -> Vec<(Kind, Case)> {
    let files = Engines::from_files();
    let mut cases = problem.cases(&files);
    let values = files.values();
    let moved = |place: usize, by: f64| {
        let mut values = values.clone();
        if let Some(value) = values.get_mut(place) {
            *value *= by.exp();
        }
        problem.cases(&files.with(&values))
    };
    // Rows of each parameter: derivatives of weighted errors, and of ln(prediction).
    let mut slopes = Vec::new();
    for place in 0..PARAMETERS.len() {
        let (up, down) = (moved(place, DERIVATIVE_STEP), moved(place, -DERIVATIVE_STEP));
        let pairs = flat(&up).zip(flat(&down)).map(|((kind, up), (_, down))| {
            let residual = |comparison| problem.residual(kind, comparison).unwrap_or_default();
            let per_step = |up: f64, down: f64| (up - down) / (2.0 * DERIVATIVE_STEP);
            [per_step(residual(up), residual(down)), per_step(up.predicted.ln(), down.predicted.ln())]
        });
        slopes.push(pairs.collect::<Vec<[f64; 2]>>());
    }
    let residuals: Vec<f64> =
        flat(&cases).map(|(kind, comparison)| problem.residual(kind, comparison).unwrap_or_default()).collect();
    let families: Vec<_> =
        cases.iter().flat_map(|(_, case)| vec![family(case.model); case.comparisons.len()]).collect();
    let step_without = |of: &_| {
        let kept = |value: f64, place: usize| if families.get(place) == Some(of) { 0.0 } else { value };
        let columns: Vec<DVector<f64>> = slopes
            .iter()
            .map(|slopes| {
                let column = slopes.iter().enumerate();
                let column: Vec<f64> = column.map(|(row, [slope, _])| kept(*slope, row)).collect();
                DVector::from_vec(column)
            })
            .collect();
        let jacobian = DMatrix::from_columns(&columns);
        let residuals = DVector::from_vec(residuals.clone());
        Some(-(covariance(&jacobian)? * jacobian.transpose() * residuals))
    };
    let mut row = 0;
    cases.retain_mut(|(_, case)| {
        let step = step_without(&family(case.model));
        for comparison in &mut case.comparisons {
            let of_row = slopes.iter().filter_map(|slopes| slopes.get(row));
            let ln_ratio: f64 =
                step.iter().flat_map(DVector::iter).zip(of_row).map(|(step, [_, slope])| step * slope).sum();
            comparison.predicted *= ln_ratio.exp();
            row += 1;
        }
        step.is_some()
    });
    cases
}

/// Returns the contents of `laboratory/validation/left_out.csv`: of each load stage and metric, ln(prediction of
/// [`left_out`] / prediction with the constants of the files).
pub fn left_out_csv(problem: &Problem, left_out: &[(Kind, Case)]) -> String {
    let mut csv = "id,stage,metric,ln_ratio\n".to_owned();
    let cases = problem.cases(&Engines::from_files());
    for (kind, left_out) in left_out {
        let same = |(of, case): &&(Kind, Case)| of == kind && case.label == left_out.label;
        let (Some((Kind::LoadStages, case)), Stage::Number(stage)) = (cases.iter().find(same), &left_out.label.stage)
        else {
            continue;
        };
        for (without, with) in left_out.comparisons.iter().zip(&case.comparisons) {
            let (id, metric) = (&case.label.id, with.metric.name());
            let ln_ratio = (without.predicted / with.predicted).ln();
            let _ = writeln!(csv, "{id},{stage},{metric},{ln_ratio:.4}");
        }
    }
    csv
}

fn flat(cases: &[(Kind, Case)]) -> impl Iterator<Item = (Kind, &Comparison)> {
    let of_case = |(kind, case): &'_ (Kind, Case)| (*kind, case.comparisons.len());
    let kinds = cases.iter().map(of_case).flat_map(|(kind, count)| std::iter::repeat_n(kind, count));
    kinds.zip(cases.iter().flat_map(|(_, case)| &case.comparisons))
}

/// Intervals of the load stages beside the measurements, as logarithms relative to the prediction.
#[derive(Debug, Clone)]
pub struct Intervals {
    coverage: Coverage,
    /// Metric, lower end, upper end, measurement.
    rows: Vec<(Metric, [f64; 2], f64)>,
}

impl Intervals {
    /// Returns the intervals of the load stages with the errors in `engines` around the predictions of `left_out`.
    pub fn of(problem: &Problem, left_out: &[(Kind, Case)], engines: &Engines, coverage: Coverage) -> Intervals {
        let mut rows = Vec::new();
        for (kind, case) in problem.intervals(engines, coverage) {
            let same = |other: &&(Kind, Case)| other.0 == kind && other.1.label == case.label;
            let left_out = left_out.iter().find(same);
            for comparison in &case.comparisons {
                let left_out = left_out.and_then(|(_, case)| case.comparison(comparison.metric));
                if let ([interval], Some(left_out)) = (&comparison.intervals[..], left_out) {
                    rows.push((
                        comparison.metric,
                        interval.map(|end| (end / comparison.predicted).ln()),
                        (left_out.actual / left_out.predicted).ln(),
                    ));
                }
            }
        }
        Intervals { coverage, rows }
    }

    /// Returns the percentage of the measurements of `metric` that lie within their interval.
    pub fn covered(&self, metric: Metric) -> f64 {
        let rows = self.of_metric(metric);
        let is_covered = |([low, high], actual): &([f64; 2], f64)| (*low..=*high).contains(actual);
        let covered = rows.clone().filter(is_covered).count();
        100.0 * covered as f64 / rows.count().max(1) as f64
    }

    /// Returns the mean interval score of `metric`: the width, plus what a measurement lies outside, times
    /// 2 / (1 - coverage). It is least, on average, for the true quantiles.
    ///
    /// Source: T. Gneiting and A. Raftery, "Strictly proper scoring rules, prediction, and estimation" (2007).
    pub fn score(&self, metric: Metric) -> f64 {
        let penalty = 2.0 / (1.0 - self.coverage.share());
        let rows = self.of_metric(metric);
        let scores = rows
            .clone()
            .map(|([low, high], actual)| high - low + penalty * ((low - actual).max(0.0) + (actual - high).max(0.0)));
        scores.sum::<f64>() / rows.count().max(1) as f64
    }

    fn of_metric(&self, metric: Metric) -> impl Iterator<Item = ([f64; 2], f64)> + Clone {
        let rows = self.rows.iter();
        rows.filter(move |row| row.0 == metric).map(|(_, interval, actual)| (*interval, *actual))
    }
}
