//! Closed loops of servers by constants that the rows of a model, or of a GPU, took no part in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use nalgebra::{DMatrix, DVector};
use rooflut::engine::{EngineStack, stacks};
use rooflut_error::Error;
use rooflut_validation::{Case, Dataset, Kind, Metric, Predictor, embedded, signed_percent, summarize, validate};

/// Change of ln(constant) by which derivatives are taken: downwards, since shares may be 1, and upwards for a factor that
/// is at least 1.
const STEP: f64 = -0.05;
/// Deviation of ln(constant) that other rows than these leave open.
const OPEN: f64 = 0.3;
/// Compared metrics, and the errors above which a row counts less.
const METRICS: [(Metric, f64); 2] = [(Metric::Tpot, 0.05), (Metric::Ttft, 0.15)];

type Field = fn(&mut EngineStack) -> &mut f64;

/// Constants of all stacks that move these rows.
const CONSTANTS: [Field; 17] = [
    |stack| &mut stack.api_server.0,
    |stack| &mut stack.constants.sustained_math,
    |stack| &mut stack.constants.blackwell_sustained_math,
    |stack| &mut stack.constants.sustained_reads,
    |stack| &mut stack.constants.moe_layer.0,
    |stack| &mut stack.constants.blackwell_moe_layer.0,
    |stack| &mut stack.constants.tuned_experts,
    |stack| &mut stack.constants.expert_bandwidth,
    |stack| &mut stack.constants.fp8_block_expert_bandwidth,
    |stack| &mut stack.constants.blackwell_fp8_block_experts,
    |stack| &mut stack.constants.all_reduce_wait.0,
    |stack| &mut stack.constants.fused_all_reduce.0,
    |stack| &mut stack.constants.prompt_layer.0,
    |stack| &mut stack.constants.blackwell_prompt_layer.0,
    |stack| &mut stack.constants.prompt_moe_layer.0,
    |stack| &mut stack.constants.host.0,
    |stack| &mut stack.constants.host_request.0,
];

/// A measured time of a row.
struct Residual {
    model: &'static str,
    gpu: String,
    metric: Metric,
    /// ln(predicted / measured).
    error: f64,
    /// Its derivative by ln of each constant.
    slopes: DVector<f64>,
}

impl Residual {
    /// Returns the weight of its square: rows that no constants fit count with their error.
    fn weight(&self) -> f64 {
        let scale = METRICS.iter().find(|(metric, _)| *metric == self.metric).map_or(1.0, |(_, scale)| *scale);
        1.0 / (scale * scale * (1.0 + self.error.abs() / scale))
    }

    /// Returns the signed error in percent after a step of the constants.
    fn percent(&self, step: &DVector<f64>) -> f64 {
        signed_percent((self.error + self.slopes.dot(step)).exp(), 1.0)
    }
}

/// Returns the contents of `laboratory/validation/left_out_servers.csv`: errors of closed loops by model and by GPU, with
/// the constants of the files, after a least-squares step of 17 constants to all rows, and after one to the rows of other
/// models, or GPUs.
///
/// The step is of first order, and moves a constant by a factor of about 1.3 at most, because rows of other files
/// determine it, too. Formats of experts, kernels and sampling are not refitted.
///
/// # Errors
/// Never, as a test of `rooflut-validation` asserts.
pub fn left_out_servers_csv() -> Result<String, Error> {
    let residuals = residuals()?;
    let mut csv = "left_out,metric,rows".to_owned();
    for constants in ["files", "all", "without"] {
        let _ = write!(csv, ",{constants}_mean,{constants}_median");
    }
    csv.push('\n');
    let none = DVector::zeros(CONSTANTS.len());
    let all = step_to(residuals.iter());
    let models: BTreeSet<&str> = residuals.iter().map(|residual| residual.model).collect();
    let gpus: BTreeSet<&str> = residuals.iter().map(|residual| residual.gpu.as_str()).collect();
    for left_out in models.into_iter().chain(gpus) {
        let is_of = |residual: &&Residual| residual.model == left_out || residual.gpu == left_out;
        let without = step_to(residuals.iter().filter(|residual| !is_of(residual)));
        for (metric, _) in METRICS {
            let rows = || residuals.iter().filter(is_of).filter(|residual| residual.metric == metric);
            let _ = write!(csv, "{left_out},{},{}", metric.name(), rows().count());
            for step in [&none, &all, &without] {
                let errors: Vec<f64> = rows().map(|residual| residual.percent(step)).collect();
                if let Some(errors) = summarize(&errors) {
                    let _ = write!(csv, ",{:.2},{:.2}", errors.mean_ape, errors.median_ape);
                }
            }
            csv.push('\n');
        }
    }
    Ok(csv)
}

/// Returns the change of ln(constants) that fits these rows best.
fn step_to<'r>(rows: impl Iterator<Item = &'r Residual>) -> DVector<f64> {
    let size = CONSTANTS.len();
    let mut normal = DMatrix::identity(size, size) / (OPEN * OPEN);
    let mut gradient = DVector::zeros(size);
    for row in rows {
        normal += row.weight() * &row.slopes * row.slopes.transpose();
        gradient += row.weight() * row.error * &row.slopes;
    }
    // Positive definite.
    let step = normal.cholesky().map(|normal| normal.solve(&gradient));
    -step.unwrap_or_else(|| DVector::zeros(size))
}

/// Returns the stacks with a constant multiplied by the exponential of a step.
fn stacks_with(moved: Option<(Field, f64)>) -> Vec<EngineStack> {
    let stack = |stack: &'static EngineStack| {
        let mut stack = *stack;
        if let Some((field, step)) = moved {
            *field(&mut stack) *= step.exp();
        }
        stack
    };
    stacks::ALL.into_iter().map(stack).collect()
}

/// Returns the step of a constant within its range.
fn step_of(field: Field) -> f64 {
    let all_are_in_range = stacks_with(Some((field, STEP))).iter().all(|stack| stack.check().is_ok());
    if all_are_in_range { STEP } else { -STEP }
}

/// Returns the errors of all rows of closed loops on single servers, with their derivatives.
fn residuals() -> Result<Vec<Residual>, Error> {
    let of_servers = |dataset: &Dataset| dataset.kind == Kind::ClosedLoops && !dataset.file.starts_with("fleets");
    let datasets: Vec<Dataset> = embedded()?.into_iter().filter(of_servers).collect();
    let predicted = |moved: Option<(Field, f64)>| -> Vec<Case> {
        let own = stacks_with(moved);
        let engines: Vec<&EngineStack> = own.iter().collect();
        let predictor = Predictor { engines: &engines, ..Predictor::default() };
        datasets.iter().flat_map(|dataset| validate(dataset, &predictor).cases).collect()
    };
    let times = |cases: &[Case]| -> Vec<f64> {
        let compared = cases.iter().flat_map(|case| METRICS.iter().filter_map(|(metric, _)| case.comparison(*metric)));
        compared.map(|comparison| comparison.predicted).collect()
    };
    let cases = predicted(None);
    let now = times(&cases);
    let steps = CONSTANTS.map(step_of);
    let moved: Vec<Vec<f64>> = CONSTANTS.into_iter().zip(steps).map(|change| times(&predicted(Some(change)))).collect();
    let compared = cases.iter().flat_map(|case| {
        let of_case = METRICS.iter().filter_map(move |(metric, _)| case.comparison(*metric));
        of_case.map(move |comparison| (case, comparison))
    });
    let residuals = compared.zip(&now).enumerate().map(|(row, ((case, comparison), now))| {
        let slope = |(moved, step): (&Vec<f64>, &f64)| moved.get(row).map_or(0.0, |moved| (moved / now).ln() / step);
        Residual {
            model: case.model,
            gpu: case.gpu.clone(),
            metric: comparison.metric,
            error: (comparison.predicted / comparison.actual).ln(),
            slopes: DVector::from_iterator(CONSTANTS.len(), moved.iter().zip(&steps).map(slope)),
        }
    });
    Ok(residuals.collect())
}
