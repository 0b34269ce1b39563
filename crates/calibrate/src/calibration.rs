//! Calibration of an engine stack.

use rooflut::engine::EngineStack;

use crate::constant::Constant;
use crate::posterior::Posterior;
use crate::priors::Priors;
use crate::residual::{CONSTANTS, Metric, Residual, Vector};

/// Number of times that the constants are fitted, each time around the last fit.
const ROUNDS: usize = 2;
/// Standard deviations of a normal distribution within which 80 % lie.
const EIGHTY: f64 = 1.281_551_565_544_600_4;
/// Share of its prior deviation above which a constant counts as not determined.
const UNTOLD: f64 = 0.9;

/// Times of a run in one unit; `None` if not known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Times {
    /// Time per output token after the first.
    pub tpot: Option<f64>,
    /// Time to the first token.
    pub ttft: Option<f64>,
}

/// A calibrated engine stack.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// The stack with the fitted constants.
    pub stack: EngineStack,
    /// The constants, in the order of [`Constant::ALL`].
    pub constants: Vec<Fitted>,
    /// Errors of the runs.
    pub errors: Vec<Errors>,
}

/// A fitted constant, in seconds or as a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// Its name.
    pub name: &'static str,
    /// The value before.
    pub shipped: f64,
    /// The fitted value.
    pub value: f64,
    /// Ends of its 80 % interval.
    pub interval: [f64; 2],
    /// Its standard deviation as a share of the one without measurements, among servers of the kinds that the runs point
    /// to: 1 if the runs tell nothing of it.
    pub left: f64,
}

/// Errors of a run, as ln(predicted / measured).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Index of the run.
    pub run: usize,
    /// The metric.
    pub metric: Metric,
    /// With the constants as they were.
    pub before: f64,
    /// With the fitted constants.
    pub after: f64,
    /// With constants fitted to the other runs, to first order.
    pub left_out: f64,
}

impl Fitted {
    /// Returns whether the runs tell the constant.
    pub fn is_told(&self) -> bool {
        self.left <= UNTOLD
    }
}

impl Times {
    fn of(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Tpot => self.tpot,
            Metric::Ttft => self.ttft,
        }
    }
}

/// Fits the constants of `stack` to measured runs of one server. `predict` returns the times of the run with an index.
///
/// Costs [`CONSTANTS`] + 1 predictions of each run for the derivatives and one for each round. If no fit agrees better
/// with the runs than `stack`, it stays as it is.
///
/// # Errors
/// The first error of `predict`.
pub fn calibrate<E>(
    stack: &EngineStack,
    measured: &[Times],
    priors: &Priors,
    predict: impl Fn(&EngineStack, usize) -> Result<Times, E>,
) -> Result<Calibration, E> {
    let all =
        |stack: &EngineStack| -> Result<Vec<Times>, E> { (0..measured.len()).map(|run| predict(stack, run)).collect() };
    let before = all(stack)?;
    let mut moved = Vec::with_capacity(CONSTANTS);
    for constant in &Constant::ALL {
        let mut stack = *stack;
        constant.shift(&mut stack, constant.step());
        moved.push(all(&stack)?);
    }
    let mut runs = Vec::new();
    let mut rows = Vec::new();
    for (run, (measured, before)) in measured.iter().zip(&before).enumerate() {
        for metric in [Metric::Tpot, Metric::Ttft] {
            let (Some(actual), Some(now)) = (measured.of(metric), before.of(metric)) else { continue };
            let slopes = Constant::ALL.iter().zip(&moved).map(|(constant, moved)| {
                let moved = moved.get(run).and_then(|times| times.of(metric));
                moved.map_or(0.0, |moved| (moved / now).ln() / constant.step())
            });
            // What predictions have too much of is taken away.
            rows.push(Residual { metric, error: (now / actual).ln(), slopes: Vector::from_iterator(slopes) });
            runs.push(run);
        }
    }
    let errors_with = |stack: &EngineStack| -> Result<Vec<f64>, E> {
        let times = all(stack)?;
        let error = |(row, run): (&Residual, &usize)| {
            let of = |times: &[Times]| times.get(*run).and_then(|times| times.of(row.metric));
            of(&times).zip(of(measured)).map_or(row.error, |(now, actual)| (now / actual).ln())
        };
        Ok(rows.iter().zip(&runs).map(error).collect())
    };
    let loss = |errors: &[f64], change: &Vector, posterior: &Posterior| {
        let noise: f64 = rows
            .iter()
            .zip(errors)
            .zip(&posterior.rows)
            .map(|((row, error), weight)| {
                let [tpot, ttft] = priors.noise;
                let noise = match row.metric {
                    Metric::Tpot => tpot,
                    Metric::Ttft => ttft,
                };
                weight * (error / noise).powi(2)
            })
            .sum();
        noise + change.component_div(&priors.spreads).norm_squared() * 0.1
    };
    let none = Vector::zeros();
    let shipped: Vec<f64> = rows.iter().map(|row| row.error).collect();
    let mut linear = rows.clone();
    let mut best = (f64::INFINITY, none, shipped.clone(), Posterior::new(priors, &rows));
    best.0 = loss(&shipped, &none, &best.3);
    for _ in 0..ROUNDS {
        let posterior = Posterior::new(priors, &linear);
        let change = -posterior.mean();
        let fitted = shifted(stack, &change);
        let errors = errors_with(&fitted)?;
        for (row, error) in linear.iter_mut().zip(&errors) {
            row.error = error - row.slopes.dot(&change);
        }
        let loss = loss(&errors, &change, &posterior);
        if loss < best.0 {
            best = (loss, change, errors, posterior);
        }
    }
    let (_, change, after, posterior) = best;
    let fitted = shifted(stack, &change);
    let left = posterior.left(priors);
    let deviation = posterior.deviation();
    let constants = Constant::ALL.iter().zip(change.iter()).zip(deviation.iter().zip(left.iter()));
    let constants = constants.map(|((constant, change), (deviation, left))| {
        let at = |coordinate: f64| {
            let mut stack = *stack;
            constant.shift(&mut stack, coordinate);
            constant.value(&stack)
        };
        let ends = [change - EIGHTY * deviation, change + EIGHTY * deviation].map(at);
        let [one, other] = ends;
        Fitted {
            name: constant.name,
            shipped: constant.value(stack),
            value: at(*change),
            interval: [one.min(other), one.max(other)],
            left: *left,
        }
    });
    let errors = rows.iter().zip(&runs).zip(&after).map(|((row, run), after)| {
        let others: Vec<Residual> =
            rows.iter().zip(&runs).filter(|(_, other)| *other != run).map(|(row, _)| *row).collect();
        let left_out = row.error - row.slopes.dot(&Posterior::new(priors, &others).mean());
        Errors { run: *run, metric: row.metric, before: row.error, after: *after, left_out }
    });
    Ok(Calibration { stack: fitted, constants: constants.collect(), errors: errors.collect() })
}

/// Returns the stack with all constants moved.
fn shifted(stack: &EngineStack, change: &Vector) -> EngineStack {
    let mut stack = *stack;
    for (constant, change) in Constant::ALL.iter().zip(change.iter()) {
        constant.shift(&mut stack, *change);
    }
    stack
}
