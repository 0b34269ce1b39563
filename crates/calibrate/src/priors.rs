//! The distribution of a server's constants before it is measured.

use std::fmt::Write as _;

use crate::constant::Constant;
use crate::residual::{CONSTANTS, Metric, Vector};

/// Priors learned from the closed loops of the published servers:
/// `cargo run --release -p rooflut-fit --example calibration priors`.
const SHIPPED: &str = include_str!("../priors.csv");

/// Multiples of the variances that servers differ by: of each group of constants, and of the noise of each metric.
const SPREADS: [f64; 4] = [0.1, 1.0, 10.0, 100.0];
/// The largest multiple whose probability is learned.
const FARTHEST: f64 = 10.0;
/// Probability of larger ones: a server may be unlike all published ones, but a few measurements alone do not say so.
const FAR: f64 = 1e-4;
const NOISES: [f64; 3] = [0.3, 1.0, 3.0];
/// Combinations of them.
pub(crate) const SCALES: usize = SPREADS.len() * (SPREADS.len() - 1) * NOISES.len() * NOISES.len();

/// Multiples of variances of one kind of server.
///
/// Servers are not alike: the constants of some hardly differ from the shipped ones, those of others do by much. A
/// mixture over multiples of the variances lets few measurements tell which of them a server is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scales {
    /// The multiple for constants of all steps.
    pub steps: f64,
    /// The multiple for constants of prompts and requests.
    pub prompts: f64,
    /// Multiples for the noise, by metric.
    pub noise: [f64; 2],
}

/// Spreads of the constants and of the noise over servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Priors {
    /// Standard deviation of each constant.
    pub spreads: Vector,
    /// Standard deviation of the noise of TPOT and TTFT, as a logarithm.
    pub noise: [f64; 2],
    /// Probability of each of [`scales`](Priors::scales).
    pub weights: Vec<f64>,
}

impl Priors {
    /// Returns all combinations of multiples, in the order of the weights.
    pub fn scales() -> impl Iterator<Item = Scales> {
        SPREADS.into_iter().flat_map(|steps| {
            SPREADS.into_iter().filter(|prompts| *prompts <= FARTHEST).flat_map(move |prompts| {
                NOISES.into_iter().flat_map(move |tpot| {
                    NOISES.into_iter().map(move |ttft| Scales { steps, prompts, noise: [tpot, ttft] })
                })
            })
        })
    }

    /// Returns the guess that learning starts from: all constants differ by 0.1 of their units, and all multiples are as
    /// likely.
    pub fn guess() -> Priors {
        Priors { spreads: Vector::repeat(0.1), noise: [0.04, 0.1], weights: Priors::shares(&[1.0; SCALES]) }
    }

    /// Returns the priors that come with the crate. `None` if their file is damaged, as a test asserts it is not.
    pub fn shipped() -> Option<Priors> {
        let values: Vec<f64> =
            SHIPPED.lines().skip(1).map_while(|line| line.rsplit(',').next()?.parse().ok()).collect();
        let (spreads, rest) = values.split_at_checked(CONSTANTS)?;
        let (noise, weights) = rest.split_at_checked(2)?;
        let [tpot, ttft] = noise else { return None };
        let spreads = Vector::from_iterator(spreads.iter().copied());
        (weights.len() == SCALES).then(|| Priors { spreads, noise: [*tpot, *ttft], weights: weights.to_vec() })
    }

    /// Returns the priors as the file that [`shipped`](Priors::shipped) reads.
    pub fn to_csv(&self) -> String {
        let mut csv = "name,value\n".to_owned();
        for (constant, spread) in Constant::ALL.iter().zip(self.spreads.iter()) {
            let _ = writeln!(csv, "{},{spread:.4e}", constant.name);
        }
        for (metric, noise) in ["tpot", "ttft"].into_iter().zip(self.noise) {
            let _ = writeln!(csv, "noise of {metric},{noise:.4e}");
        }
        for (Scales { steps, prompts, noise: [tpot, ttft] }, weight) in Priors::scales().zip(&self.weights) {
            let _ = writeln!(csv, "weight {steps} {prompts} {tpot} {ttft},{weight:.4e}");
        }
        csv
    }

    /// Returns the probability of each of [`scales`](Priors::scales), in proportion to `weights`; all of those with
    /// constants that differ by more than those of any published server have [`FAR`] together.
    pub(crate) fn shares(weights: &[f64]) -> Vec<f64> {
        let is_far = |scales: &Scales| scales.steps > FARTHEST;
        let sum = |far: bool| -> f64 {
            let of_kind = Priors::scales().zip(weights).filter(|(scales, _)| is_far(scales) == far);
            of_kind.map(|(_, weight)| weight).sum()
        };
        let [near, far] = [sum(false), sum(true)];
        let share = |(scales, weight): (Scales, &f64)| {
            if is_far(&scales) { FAR * weight / far } else { (1.0 - FAR) * weight / near }
        };
        Priors::scales().zip(weights).map(share).collect()
    }

    /// Returns the multiple of the variance of each constant.
    pub(crate) fn multiples(scales: &Scales) -> Vector {
        let multiple = |constant: &Constant| if constant.of_prompts { scales.prompts } else { scales.steps };
        Vector::from_iterator(Constant::ALL.iter().map(multiple))
    }

    /// Returns the variance of the noise of a metric.
    pub(crate) fn variance(&self, scales: &Scales, metric: Metric) -> f64 {
        metric.of(self.noise).powi(2) * metric.of(scales.noise)
    }
}
