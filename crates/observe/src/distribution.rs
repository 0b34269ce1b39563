//! Distributions of figures.

use rooflut_error::Error;
use serde::{Deserialize, Serialize};

/// Mean, percentiles and range of a figure; null where it was not measured.
///
/// Percentiles are those that the client wrote, however few requests it sent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Distribution {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Minimum.
    pub min: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
    /// Standard deviation.
    pub sd: Option<f64>,
}

/// The names that a format has for the figures of a [`Distribution`], in their order.
pub(crate) type Names = [&'static str; 8];

impl Distribution {
    /// Reads the figure behind each name, in units of `unit`.
    pub(crate) fn read(
        names: Names,
        unit: f64,
        figure: impl Fn(&str) -> Result<Option<f64>, Error>,
    ) -> Result<Distribution, Error> {
        let mut distribution = Distribution::default();
        for (own, name) in distribution.all_mut().into_iter().zip(names) {
            *own = figure(name)?.map(|figure| figure * unit);
        }
        Ok(distribution)
    }

    /// Returns the distribution of `samples`, with percentiles as numpy interpolates them; empty without samples.
    pub(crate) fn of(mut samples: Vec<f64>) -> Distribution {
        samples.sort_unstable_by(f64::total_cmp);
        let count = samples.len() as f64;
        let mean = (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / count);
        let variance = |mean: f64| samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum::<f64>() / count;
        let percentile = |share: f64| {
            let place = share * (count - 1.0).max(0.0);
            let [low, high] = [place.floor(), place.ceil()].map(|index| samples.get(index as usize).copied());
            low.zip(high).map(|(low, high)| low + (high - low) * place.fract())
        };
        Distribution {
            mean,
            p50: percentile(0.5),
            p90: percentile(0.9),
            p95: percentile(0.95),
            p99: percentile(0.99),
            min: samples.first().copied(),
            max: samples.last().copied(),
            sd: mean.map(|mean| variance(mean).sqrt()),
        }
    }

    /// Takes the figures of `other` where there are none.
    pub(crate) fn fill(&mut self, other: Distribution) {
        let Distribution { mean, p50, p90, p95, p99, min, max, sd } = other;
        for (own, other) in self.all_mut().into_iter().zip([mean, p50, p90, p95, p99, min, max, sd]) {
            *own = own.or(other);
        }
    }

    /// Whether there is no figure at all.
    pub fn is_empty(&self) -> bool {
        *self == Distribution::default()
    }

    fn all_mut(&mut self) -> [&mut Option<f64>; 8] {
        let Distribution { mean, p50, p90, p95, p99, min, max, sd } = self;
        [mean, p50, p90, p95, p99, min, max, sd]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_numpy() {
        // numpy.percentile([1, 2, 4, 8], [50, 90, 99]), mean and std.
        let found = Distribution::of(vec![8.0, 1.0, 4.0, 2.0]);
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
        assert!(close(found.p50, 3.0) && close(found.p90, 6.8) && close(found.p99, 7.88), "{found:?}");
        assert!(close(found.mean, 3.75) && close(found.sd, 2.680_951_323_690_902), "{found:?}");
        assert_eq!(Distribution::of(Vec::new()), Distribution::default());
    }
}
