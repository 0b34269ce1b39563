//! The distribution of a server's constants after it was measured.

use crate::priors::{Priors, Scales};
use crate::residual::{Matrix, Metric, Residual, Vector};

/// Degrees of freedom of the noise of a row: single rows are far off, by a hiccup of the server or of the client.
const FREEDOM: f64 = 4.0;
/// Variance of a normal distribution of which as many values lie within the 80 % interval as of that noise, whose quantile
/// at 90 % is 1.533.
const NOISE_WIDTH: f64 = (1.533 / 1.2816) * (1.533 / 1.2816);
/// Share of its prior deviation above which a constant counts as not determined.
pub(crate) const UNDETERMINED: f64 = 0.99;
/// Times that the weights of rows are computed anew.
const ROUNDS: usize = 3;

/// The distribution of the constants of a server after it was measured: a mixture of normal ones.
#[derive(Debug, Clone)]
pub struct Posterior {
    /// Probability of each part.
    pub(crate) weights: Vec<f64>,
    pub(crate) parts: Vec<Part>,
    /// Weight of each row.
    pub(crate) rows: Vec<f64>,
}

/// The normal distribution for one kind of server.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) scales: Scales,
    pub(crate) mean: Vector,
    pub(crate) covariance: Matrix,
    /// Variance of the noise, by metric.
    pub(crate) noise: [f64; 2],
}

/// The expected error of a prediction.
#[derive(Debug, Clone)]
pub struct Expected {
    /// Mean of ln(predicted / measured).
    pub mean: f64,
    /// Probability, mean and standard deviation of each part of the mixture.
    parts: Vec<[f64; 3]>,
}

/// Sums over the rows of a metric.
#[derive(Clone, Copy, Default)]
struct Sums {
    normal: Matrix,
    gradient: Vector,
    squares: f64,
    rows: f64,
}

impl Posterior {
    /// Computes the posterior of `rows`; without rows it is the prior.
    pub fn new(priors: &Priors, rows: &[Residual]) -> Posterior {
        let mut posterior = Posterior::weighted(priors, rows, vec![1.0; rows.len()]);
        for _ in 0..ROUNDS {
            let weights = posterior.weights_of(rows);
            posterior = Posterior::weighted(priors, rows, weights);
        }
        posterior
    }

    /// Returns the weight of each row: less for those far off.
    pub(crate) fn weights_of(&self, rows: &[Residual]) -> Vec<f64> {
        let weight = |row: &Residual| {
            let squares: f64 = self.weights.iter().zip(&self.parts).map(|(w, part)| w * part.square(row)).sum();
            (FREEDOM + 1.0) / (FREEDOM + squares)
        };
        rows.iter().map(weight).collect()
    }

    /// Computes what rows with weights tell.
    pub(crate) fn weighted(priors: &Priors, rows: &[Residual], weights: Vec<f64>) -> Posterior {
        let mut sums = [Sums::default(); 2];
        for (row, weight) in rows.iter().zip(&weights) {
            let [tpot, ttft] = &mut sums;
            let of = row.metric.of([tpot, ttft]);
            of.normal.ger(*weight, &row.slopes, &row.slopes, 1.0);
            of.gradient.axpy(weight * row.error, &row.slopes, 1.0);
            of.squares += weight * row.error * row.error;
            of.rows += 1.0;
        }
        let all = Priors::scales().zip(&priors.weights).map(|(scales, prior)| {
            let (part, evidence) = Part::new(priors, scales, &sums);
            (part, evidence + prior.ln())
        });
        let (parts, evidences): (Vec<Part>, Vec<f64>) = all.unzip();
        let most = evidences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let likely: Vec<f64> = evidences.iter().map(|evidence| (evidence - most).exp()).collect();
        let total: f64 = likely.iter().sum();
        Posterior { weights: likely.iter().map(|likely| likely / total).collect(), parts, rows: weights }
    }

    /// Returns the change of the constants that the measurements ask for; those of which they tell nothing stay.
    pub fn change(&self, priors: &Priors) -> Vector {
        // The excess of predictions is taken away.
        (-self.mean()).zip_map(&self.left(priors), |change, left| if left <= UNDETERMINED { change } else { 0.0 })
    }

    /// Returns the expected size of errors of predictions of such runs as `rows`, after a change of the constants: a standard
    /// deviation around 0, as a logarithm.
    pub fn deviation_of(&self, metric: Metric, rows: &[Residual], change: &Vector) -> f64 {
        let deviation = |slopes: &Vector| {
            let expected = self.expect(metric, slopes);
            expected.deviation().hypot(expected.mean + slopes.dot(change))
        };
        let of_metric = rows.iter().filter(|row| row.metric == metric);
        let deviations: Vec<f64> = of_metric.map(|row| deviation(&row.slopes)).collect();
        match deviations.len() {
            0 => deviation(&Vector::zeros()),
            rows => deviations.iter().sum::<f64>() / rows as f64,
        }
    }

    /// Returns the mean of each constant: what predictions have too much of it.
    pub fn mean(&self) -> Vector {
        let parts = self.weights.iter().zip(&self.parts);
        parts.fold(Vector::zeros(), |sum, (weight, part)| sum + *weight * part.mean)
    }

    /// Returns the sum of squares of errors, each over the variance of its noise and with the weight of its row.
    pub(crate) fn squares(&self, rows: &[Residual]) -> f64 {
        let noise = Metric::ALL.map(|metric| {
            let parts = self.weights.iter().zip(&self.parts);
            parts.map(|(weight, part)| weight / part.noise_of(metric)).sum::<f64>()
        });
        let rows = rows.iter().zip(&self.rows);
        rows.map(|(row, weight)| weight * row.metric.of(noise) * row.error * row.error).sum()
    }

    /// Returns the covariance of the constants.
    pub(crate) fn covariance(&self) -> Matrix {
        let mean = self.mean();
        self.weights.iter().zip(&self.parts).fold(Matrix::zeros(), |sum, (weight, part)| {
            let off = part.mean - mean;
            sum + *weight * (part.covariance + off * off.transpose())
        })
    }

    /// Returns the variance of the error of a prediction that the constants do not explain, without its heavy tails.
    pub(crate) fn noise(&self, metric: Metric) -> f64 {
        let parts = self.weights.iter().zip(&self.parts);
        parts.map(|(weight, part)| weight * part.noise_of(metric)).sum()
    }

    /// Returns what is known once runs with these derivatives are measured as well, whatever they are measured to take.
    #[must_use]
    pub fn narrowed(&self, rows: &[Residual]) -> Posterior {
        let mut narrowed = self.clone();
        for part in &mut narrowed.parts {
            for row in rows {
                let along = part.covariance * row.slopes;
                let variance = row.slopes.dot(&along) + part.noise_of(row.metric);
                part.covariance -= along * along.transpose() / variance;
            }
        }
        narrowed
    }

    /// Returns the standard deviation of each constant.
    pub fn deviation(&self) -> Vector {
        self.covariance().diagonal().map(f64::sqrt)
    }

    /// Returns the standard deviation of each constant as a share of its own without measurements, among servers of the kinds
    /// that the measurements point to.
    pub fn left(&self, priors: &Priors) -> Vector {
        let prior = priors.spreads.component_mul(&priors.spreads);
        let (own, before) = self.weights.iter().zip(&self.parts).fold(
            (Vector::zeros(), Vector::zeros()),
            |(own, before), (weight, part)| {
                let multiples = Priors::multiples(&part.scales);
                (own + *weight * part.covariance.diagonal(), before + *weight * multiples.component_mul(&prior))
            },
        );
        own.component_div(&before).map(f64::sqrt)
    }

    /// Returns the expected error of a prediction with these slopes.
    pub fn expect(&self, metric: Metric, slopes: &Vector) -> Expected {
        let parts: Vec<[f64; 3]> = self
            .weights
            .iter()
            .zip(&self.parts)
            .map(|(weight, part)| {
                let variance = slopes.dot(&(part.covariance * slopes)) + NOISE_WIDTH * part.noise_of(metric);
                [*weight, slopes.dot(&part.mean), variance.sqrt()]
            })
            .collect();
        Expected { mean: parts.iter().map(|[weight, mean, _]| weight * mean).sum(), parts }
    }
}

impl Part {
    /// Computes the distribution, and ln of the probability of the rows.
    fn new(priors: &Priors, scales: Scales, sums: &[Sums; 2]) -> (Part, f64) {
        let noise = [Metric::Tpot, Metric::Ttft].map(|metric| priors.variance(&scales, metric));
        let multiples = Priors::multiples(&scales);
        let deviations = priors.spreads.component_mul(&multiples.map(f64::sqrt));
        let mut normal = Matrix::zeros();
        let mut gradient = Vector::zeros();
        let mut evidence = 0.0;
        for (of, noise) in sums.iter().zip(noise) {
            normal += of.normal / noise;
            gradient += of.gradient / noise;
            evidence -= 0.5 * (of.squares / noise + of.rows * noise.ln());
        }
        // In units of the prior's deviations, the matrix is at least the unit matrix.
        let scaled = |matrix: &Matrix| {
            Matrix::from_fn(|row, column| {
                let at = |index: usize| deviations.get(index).copied().unwrap_or(0.0);
                matrix.get((row, column)).copied().unwrap_or(0.0) * at(row) * at(column)
            })
        };
        let Some(cholesky) = (scaled(&normal) + Matrix::identity()).cholesky() else {
            let covariance = Matrix::from_diagonal(&deviations.component_mul(&deviations));
            return (Part { scales, mean: Vector::zeros(), covariance, noise }, f64::NEG_INFINITY);
        };
        let covariance = scaled(&cholesky.inverse());
        let mean = covariance * gradient;
        let log_determinant: f64 = cholesky.l_dirty().diagonal().iter().map(|value| 2.0 * value.ln()).sum();
        evidence += 0.5 * (gradient.dot(&mean) - log_determinant);
        (Part { scales, mean, covariance, noise }, evidence)
    }

    pub(crate) fn noise_of(&self, metric: Metric) -> f64 {
        metric.of(self.noise)
    }

    /// Returns the expected square of the noise of a row, over the variance of the noise.
    pub(crate) fn square(&self, row: &Residual) -> f64 {
        let off = row.error - row.slopes.dot(&self.mean);
        (off * off + row.slopes.dot(&(self.covariance * row.slopes))) / self.noise_of(row.metric)
    }
}

impl Expected {
    /// Returns the standard deviation.
    pub fn deviation(&self) -> f64 {
        let squares = self.parts.iter().map(|[weight, mean, sd]| weight * (sd * sd + (mean - self.mean).powi(2)));
        squares.sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TPOT whose error depends on the first two constants.
    fn row(error: f64, slopes: [f64; 2]) -> Residual {
        let slopes = slopes.into_iter().chain(std::iter::repeat(0.0)).take(Vector::zeros().len());
        Residual { metric: Metric::Tpot, error, slopes: Vector::from_iterator(slopes) }
    }

    #[test]
    fn without_measurements_nothing_changes_and_nothing_is_known() {
        let priors = Priors::shipped().unwrap();
        let posterior = Posterior::new(&priors, &[]);
        assert_eq!(posterior.change(&priors), Vector::zeros());
        assert!(posterior.left(&priors).iter().all(|left| (left - 1.0).abs() < 1e-12));
    }

    #[test]
    fn measurements_that_agree_move_the_constant_that_they_depend_on() {
        let priors = Priors::guess();
        let posterior = Posterior::new(&priors, &[row(-0.1, [1.0, 0.0]); 50]);
        let change = posterior.change(&priors);
        assert!((change[0] - 0.1).abs() < 0.005 && change[1] == 0.0, "{change}");
        assert!(posterior.left(&priors)[0] < 0.2);
    }

    #[test]
    fn what_a_measurement_would_narrow_it_narrows() {
        let priors = Priors::guess();
        let planned = [row(0.0, [1.0, 0.5]), row(0.0, [0.2, -1.0])];
        let measured = planned.map(|planned| Residual { error: 0.07, ..planned });
        let [before, after] =
            [&[][..], &measured].map(|rows| Posterior::weighted(&priors, rows, vec![1.0; rows.len()]));
        for (narrowed, measured) in before.narrowed(&planned).parts.iter().zip(&after.parts) {
            assert!((narrowed.covariance - measured.covariance).norm() < 1e-12);
        }
        assert!(after.deviation()[0] < 0.7 * before.deviation()[0]);
    }
}
