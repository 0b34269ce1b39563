//! Errors of predictions against the measurements, as a least-squares problem.

use rooflut::interval::Coverage;
use rooflut::model::{self, ModelSpec, Sampler};
use rooflut_error::Error;
use rooflut_validation::{Case, Comparison, Dataset, Kind, Metric, Predictor, Row, embedded, validate};

use crate::parameters::Engines;

/// The GPU whose rows are fitted.
const GPU: &str = "h100";
/// Load stages are cut to this duration; they are steady long before.
const LONGEST_STAGE_S: f64 = 200.0;
/// Relative error above which a row counts less than its square. Rows that no set of constants fits (a
/// run that is slower than five equal ones) must not distort the fit.
const SOFT: f64 = 0.02;

/// Measured rows to fit.
#[derive(Debug, Clone)]
pub struct Problem {
    datasets: Vec<Dataset>,
    /// Number of rows of each fitted metric.
    counts: Vec<(Kind, Metric, usize)>,
}

/// The fitted metrics and their weights. A weight is that of all rows of the metric together, as a multiple
/// of the weight of the load stages' TPOT.
///
/// TPOT is the metric that servers are compared by, and the most reliable: a mean over hundreds of tokens
/// of hundreds of requests. TTFT is two to three steps, one of them partly spent waiting. Single steps and
/// requests that ran alone are exact, but cover two models each.
const WEIGHTS: [(Kind, Metric, f64); 5] = [
    (Kind::LoadStages, Metric::Tpot, 1.0),
    (Kind::LoadStages, Metric::WarmTtft, 0.1),
    (Kind::DecodeSteps, Metric::Step, 0.2),
    (Kind::SoloRequests, Metric::Prefill, 0.1),
    (Kind::SoloRequests, Metric::Tpot, 0.2),
];

impl Problem {
    /// Returns the rows that come with the project.
    ///
    /// # Errors
    /// Never, as a test of `rooflut-validation` asserts.
    pub fn embedded() -> Result<Problem, Error> {
        let fitted = |dataset: &Dataset| WEIGHTS.iter().any(|(of, ..)| *of == dataset.kind);
        let mut problem = Problem { datasets: embedded()?.into_iter().filter(fitted).collect(), counts: Vec::new() };
        let cases = problem.cases(&Engines::from_files());
        problem.counts = WEIGHTS
            .iter()
            .map(|&(kind, metric, _)| {
                let rows =
                    cases.iter().filter(|(of, _)| *of == kind).filter(|(_, case)| case.comparison(metric).is_some());
                (kind, metric, rows.count())
            })
            .collect();
        Ok(problem)
    }

    /// Returns the problem without the rows of `model` and of models that differ from it only in their
    /// vocabulary.
    pub fn without(&self, model: &str) -> Problem {
        let left_out = family(model);
        let mut rest = self.clone();
        for dataset in &mut rest.datasets {
            let keep = |row: &Row| family(&row.server.model) != left_out;
            dataset.rows.retain(keep);
        }
        rest
    }

    /// Returns the number of rows of each fitted metric.
    pub fn counts(&self) -> &[(Kind, Metric, usize)] {
        &self.counts
    }

    /// Predicts every row on the fitted GPU with `engines`.
    pub fn cases(&self, engines: &Engines) -> Vec<(Kind, Case)> {
        let datasets = self.datasets.iter();
        datasets.flat_map(|dataset| predicted(dataset, engines, &[])).collect()
    }

    /// Predicts every load stage on the fitted GPU with `engines`, with intervals.
    pub(crate) fn intervals(&self, engines: &Engines, coverage: Coverage) -> Vec<(Kind, Case)> {
        let stages = self.datasets.iter().filter(|dataset| dataset.kind == Kind::LoadStages);
        stages.flat_map(|dataset| predicted(dataset, engines, &[coverage])).collect()
    }

    /// Returns the weighted error of every row; errors of outliers are reduced.
    pub fn residuals(&self, engines: &Engines) -> Vec<f64> {
        let mut all = Vec::new();
        for (kind, case) in self.cases(engines) {
            let comparisons = case.comparisons.iter();
            all.extend(comparisons.filter_map(|comparison| self.residual(kind, comparison)));
        }
        all
    }

    /// Returns the weighted error of a row; `None` if it is not fitted.
    pub(crate) fn residual(&self, kind: Kind, comparison: &Comparison) -> Option<f64> {
        let mut weights = WEIGHTS.iter().zip(&self.counts);
        let (&(.., weight), &(.., rows)) =
            weights.find(|((of, metric, _), _)| *of == kind && *metric == comparison.metric)?;
        let error = comparison.signed() / 100.0;
        Some((weight / rows.max(1) as f64).sqrt() * soft(error))
    }
}

/// Predicts every row of `dataset` on the fitted GPU.
fn predicted(
    dataset: &Dataset,
    engines: &Engines,
    coverages: &[Coverage],
) -> impl Iterator<Item = (Kind, Case)> + use<> {
    let predictor = Predictor {
        engines: &[&engines.newer, &engines.older],
        longest_stage_s: LONGEST_STAGE_S,
        coverages,
        ..Predictor::default()
    };
    let kind = dataset.kind;
    let cases = validate(dataset, &predictor).cases.into_iter().filter(|case| case.gpu == GPU);
    cases.map(move |case| (kind, case))
}

/// Returns about `error` if it is small; grows with the square root of a large `error`. The square of the
/// result is the soft-L1 loss.
fn soft(error: f64) -> f64 {
    let squared = (error / SOFT) * (error / SOFT);
    let loss = 2.0 * ((1.0 + squared).sqrt() - 1.0);
    error.signum() * SOFT * loss.sqrt()
}

/// Returns the dimensions that the models of a family share.
pub(crate) fn family(model: &str) -> Option<ModelSpec> {
    let mut spec = model::find(model)?.spec;
    spec.vocab = 0;
    spec.sampler = Sampler::Plain;
    Some(spec)
}
