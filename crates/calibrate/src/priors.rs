//! What is known of a server before it is measured.

use crate::residual::{Metric, Vector};

/// Multiples of the variances that servers differ by: of each group of constants, and of the noise of each metric.
const SPREADS: [f64; 3] = [0.1, 1.0, 10.0];
const NOISES: [f64; 3] = [0.3, 1.0, 3.0];
/// Combinations of them.
pub(crate) const SCALES: usize = SPREADS.len() * SPREADS.len() * NOISES.len() * NOISES.len();

/// Multiples of variances of one kind of server.
///
/// Servers are not alike: the constants of some hardly differ from the shipped ones, those of others do by much. A
/// mixture over multiples of the variances lets few measurements tell which of them a server is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scales {
    /// Of constants of all steps.
    pub steps: f64,
    /// Of constants of prompts and requests.
    pub prompts: f64,
    /// Of the noise, by metric.
    pub noise: [f64; 2],
}

/// Spreads of the constants and of the noise over servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Priors {
    /// Standard deviation of each constant.
    pub spreads: Vector,
    /// Whether each constant is one of prompts and requests.
    pub of_prompts: [bool; crate::CONSTANTS],
    /// Standard deviation of the noise of TPOT and TTFT, as a logarithm.
    pub noise: [f64; 2],
    /// Probability of each of [`scales`](Priors::scales).
    pub weights: Vec<f64>,
}

impl Priors {
    /// Returns all combinations of multiples, in the order of the weights.
    pub fn scales() -> impl Iterator<Item = Scales> {
        SPREADS.into_iter().flat_map(|steps| {
            SPREADS.into_iter().flat_map(move |prompts| {
                NOISES.into_iter().flat_map(move |tpot| {
                    NOISES.into_iter().map(move |ttft| Scales { steps, prompts, noise: [tpot, ttft] })
                })
            })
        })
    }

    /// Returns priors with these spreads in which all multiples are as likely.
    pub fn new(spreads: Vector, of_prompts: [bool; crate::CONSTANTS], noise: [f64; 2]) -> Priors {
        Priors { spreads, of_prompts, noise, weights: vec![1.0 / SCALES as f64; SCALES] }
    }

    /// Returns the multiple of the variance of each constant.
    pub(crate) fn multiples(&self, scales: &Scales) -> Vector {
        Vector::from_iterator(self.of_prompts.iter().map(|prompts| if *prompts { scales.prompts } else { scales.steps }))
    }

    /// Returns the variance of the noise of a metric.
    pub(crate) fn variance(&self, scales: &Scales, metric: Metric) -> f64 {
        let [[tpot, ttft], [of_tpot, of_ttft]] = [self.noise, scales.noise];
        match metric {
            Metric::Tpot => tpot * tpot * of_tpot,
            Metric::Ttft => ttft * ttft * of_ttft,
        }
    }
}
