//! Which measurements would tell most.

use crate::posterior::Posterior;
use crate::residual::Residual;

/// A measurement that narrows predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// Index of the candidate.
    pub candidate: usize,
    /// Standard deviations of the asked predictions before, as logarithms.
    pub before: f64,
    /// Standard deviations once it is measured, after those named before it.
    pub after: f64,
}

/// Returns the candidates, up to `count`, that would narrow predictions of `asked` most, the first first.
///
/// The outcomes of the measurements do not matter to first order.
pub fn next(posterior: &Posterior, asked: &[Residual], candidates: &[Vec<Residual>], count: usize) -> Vec<Gain> {
    let width = |posterior: &Posterior| {
        let squares = asked.iter().map(|row| posterior.expect(row.metric, &row.slopes).deviation().powi(2));
        (squares.sum::<f64>() / asked.len().max(1) as f64).sqrt()
    };
    let mut posterior = posterior.clone();
    let mut gains: Vec<Gain> = Vec::new();
    while gains.len() < count {
        let before = width(&posterior);
        let left = candidates.iter().enumerate().filter(|(index, _)| gains.iter().all(|gain| gain.candidate != *index));
        let best = left.map(|(index, rows)| (index, posterior.narrowed(rows)));
        let best = best.map(|(index, narrowed)| (width(&narrowed), index, narrowed));
        let Some((after, candidate, narrowed)) = best.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) else {
            break;
        };
        gains.push(Gain { candidate, before, after });
        posterior = narrowed;
    }
    gains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::priors::Priors;
    use crate::residual::{Metric, Vector};

    fn row(constant: usize, slope: f64) -> Residual {
        let mut slopes = Vector::zeros();
        slopes[constant] = slope;
        Residual { metric: Metric::Tpot, error: 0.0, slopes }
    }

    #[test]
    fn loads_that_depend_on_the_constants_of_a_question_are_named_first() {
        let priors = Priors::guess();
        let candidates = [vec![row(0, 1.0)], vec![row(1, 0.5)], vec![row(1, 1.0)]];
        let gains = next(&Posterior::new(&priors, &[]), &[row(1, 1.0)], &candidates, 9);
        let order: Vec<usize> = gains.iter().map(|gain| gain.candidate).collect();
        assert_eq!(order, [2, 1, 0]);
        let [first, second, other] = gains.as_slice() else { panic!("{gains:?}") };
        assert!(first.after < 0.8 * first.before && second.after < second.before);
        assert!(second.before.to_bits() == first.after.to_bits() && other.after.to_bits() == other.before.to_bits());
    }
}
