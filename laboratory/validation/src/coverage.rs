//! Coverage of the intervals of predictions.

use std::collections::BTreeMap;

use rooflut::interval::Coverage;

use crate::compare::Metric;
use crate::dataset::Dataset;
use crate::engine::Predictor;
use crate::left_out::LeftOut;
use crate::report::validate;

/// How many measurements of a metric on one GPU lie within the intervals of their predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricCoverage {
    /// Name of the table set.
    pub gpu: String,
    /// The predicted metric.
    pub metric: Metric,
    /// Number of measurements.
    pub n: usize,
    /// Percentage of measurements within the interval, by nominal coverage.
    pub covered: Vec<f64>,
}

/// Returns the coverage of intervals of each of the `nominal` coverages, by GPU and metric; nothing for KV blocks.
///
/// Measurements of load stages in `left_out` are compared with predictions without their model family.
/// [`Predictor::longest_stage_s`] limits the length of stages. Each nominal coverage takes two more predictions of each
/// row, in addition to one shared prediction.
pub fn coverage(
    dataset: &Dataset,
    predictor: &Predictor<'_>,
    left_out: &LeftOut,
    nominal: &[Coverage],
) -> Vec<MetricCoverage> {
    let with_intervals = Predictor { coverages: nominal, ..*predictor };
    // The number of measurements, and how many of them are covered, by nominal coverage.
    let mut groups: BTreeMap<(String, Metric), (usize, Vec<usize>)> = BTreeMap::new();
    for case in validate(dataset, &with_intervals).cases {
        for comparison in case.comparisons {
            if comparison.intervals.is_empty() {
                continue;
            }
            let metric = comparison.metric;
            let ln_ratio = left_out.ln_ratio(&case.label, metric);
            let comparison = comparison.moved(ln_ratio.unwrap_or_default());
            let (n, covered) = groups.entry((case.gpu.clone(), metric)).or_insert_with(|| (0, vec![0; nominal.len()]));
            *n += 1;
            for (covered, is_covered) in covered.iter_mut().zip(comparison.are_covered()) {
                *covered += usize::from(is_covered);
            }
        }
    }
    let group = |((gpu, metric), (n, covered)): (_, (usize, Vec<usize>))| MetricCoverage {
        gpu,
        metric,
        n,
        covered: covered.into_iter().map(|covered| 100.0 * covered as f64 / n as f64).collect(),
    };
    groups.into_iter().map(group).collect()
}
