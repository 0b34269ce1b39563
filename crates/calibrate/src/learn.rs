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
