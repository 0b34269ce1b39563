//! Least squares by the Levenberg-Marquardt method.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DMatrix, DVector, Dyn, Owned};

use crate::parameters::{CHOICES, Engines, PARAMETERS};
use crate::problem::Problem;

/// Step of the numerical derivatives in ln(value). Simulated times jump where the schedule changes; much
/// smaller steps would measure these jumps.
pub(crate) const DERIVATIVE_STEP: f64 = 0.03;
/// Relative change of the loss and of the parameters at which the search ends.
const TOLERANCE: f64 = 1e-4;

/// Maximum number of searches of the parameters.
const MAX_ROUNDS: usize = 4;

/// The result of a fit.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The engines with the fitted constants.
    pub engines: Engines,
    /// The fitted constants, in the order and the units of [`PARAMETERS`].
    pub estimates: Vec<Estimate>,
}

/// Estimate of a constant, in the unit of its parameter.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    /// Estimated value.
    pub value: f64,
    /// Standard deviation from the curvature of the loss; `None` if the rows do not determine the
    /// constant.
    pub deviation: Option<f64>,
}

/// Fits all constants to all rows, from a neutral guess.
///
/// Alternates between fitting the parameters and picking the best value of each choice, until no choice
/// changes.
pub fn fit(problem: &Problem) -> Fit {
    let mut start = Engines::guess();
    let solver =
        LevenbergMarquardt::new().with_ftol(TOLERANCE).with_xtol(TOLERANCE).with_gtol(TOLERANCE).with_patience(5);
    for _ in 1..MAX_ROUNDS {
        let (search, _) = solver.minimize(Search::new(problem, start));
        let found = search.engines(&search.ln_ratios);
        start = choose(problem, found);
        if CHOICES.iter().all(|choice| same(choice.value(&start), choice.value(&found))) {
            return search.into_fit();
        }
    }
    let (search, _) = solver.minimize(Search::new(problem, start));
    search.into_fit()
}

fn same(a: f64, b: f64) -> bool {
    a.total_cmp(&b).is_eq()
}

/// Returns `engines` with the best value of each choice, one after the other.
fn choose(problem: &Problem, engines: Engines) -> Engines {
    let loss = |engines: &Engines| -> f64 {
        let residuals = problem.residuals(engines);
        residuals.iter().map(|residual| residual * residual).sum()
    };
    CHOICES.iter().fold(engines, |best, choice| {
        let others = choice.candidates.iter();
        let others = others.filter(|&&value| !same(value, choice.value(&best)));
        let others = others.map(|&value| choice.with(best, value));
        let mut best = (loss(&best), best);
        for engines in others {
            let loss = loss(&engines);
            if loss < best.0 {
                best = (loss, engines);
            }
        }
        best.1
    })
}

/// Returns the constants of the files after one Gauss-Newton step; they hardly move if constants and data
/// agree.
pub fn one_step_from_files(problem: &Problem) -> Fit {
    let mut search = Search::new(problem, Engines::from_files());
    let step = search.jacobian().and_then(|jacobian| {
        let gradient = jacobian.transpose() * &search.residuals;
        Some(covariance(&jacobian)? * gradient)
    });
    if let Some(step) = step {
        let moved = &search.ln_ratios - step;
        search.set_params(&moved);
    }
    search.into_fit()
}

/// State of a search: logarithms of the constants relative to the start.
struct Search<'p> {
    problem: &'p Problem,
    start: Engines,
    ln_ratios: DVector<f64>,
    residuals: DVector<f64>,
}

impl<'p> Search<'p> {
    fn new(problem: &'p Problem, start: Engines) -> Search<'p> {
        let mut search =
            Search { problem, start, ln_ratios: DVector::zeros(PARAMETERS.len()), residuals: DVector::zeros(0) };
        search.residuals = search.residuals_at(&search.ln_ratios);
        search
    }

    fn engines(&self, ln_ratios: &DVector<f64>) -> Engines {
        let values = self.start.values();
        let values = values.iter().zip(ln_ratios);
        let values: Vec<f64> = values.map(|(value, ln_ratio)| value * ln_ratio.exp()).collect();
        self.start.with(&values)
    }

    fn residuals_at(&self, ln_ratios: &DVector<f64>) -> DVector<f64> {
        DVector::from_vec(self.problem.residuals(&self.engines(ln_ratios)))
    }

    fn into_fit(self) -> Fit {
        let engines = self.engines(&self.ln_ratios);
        let freedom = self.residuals.len().saturating_sub(PARAMETERS.len()).max(1);
        let variance = self.residuals.norm_squared() / freedom as f64;
        let covariance = self.jacobian().as_ref().and_then(covariance);
        let estimate = |(place, value): (usize, f64)| {
            let of_ln = covariance.as_ref().and_then(|matrix| matrix.get((place, place)));
            Estimate { value, deviation: of_ln.map(|of_ln| value * (of_ln * variance).sqrt()) }
        };
        Fit { engines, estimates: engines.values().into_iter().enumerate().map(estimate).collect() }
    }
}

/// Returns the inverse of the normal matrix, if it is regular.
pub(crate) fn covariance(jacobian: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    (jacobian.transpose() * jacobian).try_inverse()
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Search<'_> {
    type ParameterStorage = Owned<f64, Dyn>;
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;

    fn set_params(&mut self, ln_ratios: &DVector<f64>) {
        self.ln_ratios.copy_from(ln_ratios);
        self.residuals = self.residuals_at(ln_ratios);
    }

    fn params(&self) -> DVector<f64> {
        self.ln_ratios.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        Some(self.residuals.clone())
    }

    /// Central differences, because the loss is so flat that the bias of forward differences matters.
    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let columns: Vec<DVector<f64>> = (0..PARAMETERS.len())
            .map(|place| {
                let moved = |by: f64| {
                    let mut ln_ratios = self.ln_ratios.clone();
                    if let Some(ln_ratio) = ln_ratios.get_mut(place) {
                        *ln_ratio += by;
                    }
                    self.residuals_at(&ln_ratios)
                };
                (moved(DERIVATIVE_STEP) - moved(-DERIVATIVE_STEP)) / (2.0 * DERIVATIVE_STEP)
            })
            .collect();
        Some(DMatrix::from_columns(&columns))
    }
}
