//! Coverage of the intervals of files, and of the kernels under their predictions.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rooflut::Invalid;
use rooflut::interval::Coverage;
use rooflut::table::sets;

use crate::compare::Metric;
use crate::coverage::coverage;
use crate::dataset::Dataset;
use crate::engine::Predictor;
use crate::kind::Kind;
use crate::left_out::LeftOut;
use crate::lookup_errors::lookup_coverage;
use crate::report::FileReport;

/// Nominal coverages of the intervals that are compared with measurements.
pub const NOMINAL: [f64; 2] = [0.8, 0.95];
/// Load stages are cut to this duration for their intervals; they are steady long before.
const LONGEST_STAGE_S: f64 = 200.0;
/// Closed loops take long to simulate: the intervals of one row in so many are compared.
const SAMPLED: usize = 16;
/// The place of kernels among the files.
const TABLES: &str = "tables";

/// The coverage of the intervals of a metric or of an operation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Covered {
    /// Name of the file; `tables` for kernels.
    pub file: String,
    /// Name of the table set.
    pub gpu: String,
    /// The metric; `None` for an operation.
    pub metric: Option<Metric>,
    /// Name of the metric or the operation.
    pub name: &'static str,
    /// Number of measurements.
    pub n: usize,
    /// Percentage of the measurements within the interval, by nominal coverage.
    pub percent: Vec<f64>,
    /// Whether the measurements took no part in the predictions and their intervals.
    pub is_left_out: bool,
}

/// Returns the coverages of the rows of `datasets`, and of the kernels of the GPUs in their `reports`, by `nominal`
/// coverage. Of closed loops, every sixteenth row counts.
///
/// # Errors
/// A nominal coverage that is not between 0 and 1.
pub fn covered(
    datasets: &[Dataset],
    reports: &[FileReport],
    left_out: &LeftOut,
    nominal: &[f64],
) -> Result<Vec<Covered>, Invalid> {
    let nominal = nominal.iter().copied().map(Coverage::try_new);
    let nominal: Vec<Coverage> = nominal.collect::<Result<_, _>>()?;
    let predictor = Predictor { longest_stage_s: LONGEST_STAGE_S, ..Predictor::default() };
    let mut covered = Vec::new();
    for dataset in datasets {
        for of in coverage(&sampled(dataset), &predictor, left_out, &nominal) {
            covered.push(Covered {
                file: dataset.file.clone(),
                gpu: of.gpu,
                metric: Some(of.metric),
                name: of.metric.name(),
                n: of.n,
                percent: of.covered,
                is_left_out: dataset.kind == Kind::LoadStages && of.metric != Metric::WarmTtft,
            });
        }
    }
    let cases = reports.iter().flat_map(|report| &report.cases);
    let gpus: BTreeSet<&str> = cases.map(|case| case.gpu.as_str()).collect();
    for set in sets::ALL.iter().filter(|set| gpus.contains(set.name())) {
        for of in lookup_coverage(set, &nominal) {
            covered.push(Covered {
                file: TABLES.to_owned(),
                gpu: set.name().to_owned(),
                metric: None,
                name: of.operation.name(),
                n: of.n,
                percent: of.covered,
                is_left_out: true,
            });
        }
    }
    Ok(covered)
}

/// Returns the rows whose intervals are compared.
fn sampled(dataset: &Dataset) -> Cow<'_, Dataset> {
    match dataset.kind {
        Kind::ClosedLoops => {
            let rows = dataset.rows.iter().step_by(SAMPLED).cloned().collect();
            Cow::Owned(Dataset { file: dataset.file.clone(), kind: dataset.kind, rows })
        }
        _ => Cow::Borrowed(dataset),
    }
}
