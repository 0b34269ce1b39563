//! Learns from many servers how much servers differ.

use crate::posterior::Posterior;
use crate::priors::{Priors, SCALES};
use crate::residual::{Residual, Vector};

/// Servers' worth of the first guess: no spread becomes zero.
const GUESS: f64 = 0.5;

/// Improves `priors` by the rows of many servers: expectation maximisation, `rounds` times.
pub fn learn(priors: &Priors, servers: &[&[Residual]], rounds: usize) -> Priors {
    let guess = priors.clone();
    let mut priors = priors.clone();
    let mut row_weights: Vec<Vec<f64>> = servers.iter().map(|rows| vec![1.0; rows.len()]).collect();
    for _ in 0..rounds {
        let mut squares = Vector::zeros();
        let mut noise = [0.0; 2];
        let mut counts = [0.0; 2];
        let mut weights = vec![0.1; SCALES];
        for (rows, row_weights) in servers.iter().zip(&mut row_weights) {
            let posterior = Posterior::weighted(&priors, rows, std::mem::take(row_weights));
            for ((weight, part), sum) in posterior.weights.iter().zip(&posterior.parts).zip(&mut weights) {
                *sum += weight;
                if *weight < 1e-6 {
                    continue;
                }
                let second = part.mean.component_mul(&part.mean) + part.covariance.diagonal();
                squares += *weight * second.component_div(&Priors::multiples(&part.scales));
                for (row, of_row) in rows.iter().zip(&posterior.rows) {
                    let square = weight * of_row * part.square(row);
                    let [tpot, ttft] = &mut noise;
                    *row.metric.of([tpot, ttft]) += square;
                }
            }
            for row in *rows {
                let [tpot, ttft] = &mut counts;
                *row.metric.of([tpot, ttft]) += 1.0;
            }
            *row_weights = posterior.weights_of(rows);
        }
        let servers = servers.len() as f64;
        let first = guess.spreads.component_mul(&guess.spreads);
        priors.spreads = ((squares + GUESS * first) / (servers + GUESS)).map(f64::sqrt);
        for ((own, noise), count) in priors.noise.iter_mut().zip(noise).zip(counts) {
            if count > 0.0 {
                *own *= (noise / count).sqrt();
            }
        }
        priors.weights = Priors::shares(&weights);
    }
    priors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residual::Metric;

    #[test]
    fn constants_in_which_servers_differ_have_wide_priors() {
        // Quantiles of a normal distribution.
        let quantiles = [-1.64, 0.39, 1.04, -0.13, 0.67, -0.67, 0.13, -1.04, 1.64, -0.39];
        let server = |place: usize| {
            let row = |constant: usize, error: f64| {
                let mut slopes = Vector::zeros();
                slopes[constant] = 1.0;
                Residual { metric: Metric::Tpot, error, slopes }
            };
            let [wide, narrow] = [quantiles[place % 10], quantiles[3 * place % 10]];
            let noise = [0.004, -0.004];
            let rows = noise.into_iter().flat_map(|noise| [row(0, 0.3 * wide + noise), row(1, 0.03 * narrow + noise)]);
            rows.collect()
        };
        let servers: Vec<Vec<Residual>> = (0..20).map(server).collect();
        let servers: Vec<&[Residual]> = servers.iter().map(Vec::as_slice).collect();
        let learned = learn(&Priors::guess(), &servers, 8);
        let ratio = learned.spreads[0] / learned.spreads[1];
        assert!((5.0..20.0).contains(&ratio), "{}", learned.spreads);
        assert!(learned.noise[0] < 0.02, "{:?}", learned.noise);
        assert!((learned.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
