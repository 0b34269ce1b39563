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
    /// Percentage of them within the interval, by nominal coverage.
    pub covered: Vec<f64>,
}

/// Returns the coverage of intervals of each of the `nominal` coverages, by GPU and metric; nothing for KV blocks.
///
/// Measurements of load stages that `left_out` has are compared with predictions without their model family. Stages are
/// cut as [`Predictor::longest_stage_s`] says. Each nominal coverage takes three predictions of each row.
pub fn coverage(
    dataset: &Dataset,
    predictor: &Predictor<'_>,
    left_out: &LeftOut,
    nominal: &[Coverage],
) -> Vec<MetricCoverage> {
    let mut groups: BTreeMap<(String, Metric), Vec<[usize; 2]>> = BTreeMap::new();
    for (place, coverage) in nominal.iter().enumerate() {
        let with_intervals = Predictor {
            coverage: Some(*coverage),
            ..*predictor
        };
        for case in validate(dataset, &with_intervals).cases {
            for comparison in case.comparisons {
                let ln_ratio = left_out.ln_ratio(&case.label, comparison.metric);
                let comparison = comparison.moved(ln_ratio.unwrap_or_default());
                let Some(is_covered) = comparison.is_covered() else {
                    continue;
                };
                let counts = groups.entry((case.gpu.clone(), comparison.metric));
                let counts = counts.or_default();
                counts.resize(counts.len().max(place + 1), [0; 2]);
                if let Some([n, covered]) = counts.get_mut(place) {
                    *n += 1;
                    *covered += usize::from(is_covered);
                }
            }
        }
    }
    let group = |((gpu, metric), counts): (_, Vec<[usize; 2]>)| MetricCoverage {
        gpu,
        metric,
        n: counts.first().map_or(0, |[n, _]| *n),
        covered: counts
            .iter()
            .map(|[n, covered]| 100.0 * *covered as f64 / *n as f64)
            .collect(),
    };
    groups.into_iter().map(group).collect()
}
