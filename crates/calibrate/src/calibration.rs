//! Calibration of an engine stack.

use std::collections::BTreeMap;

use rooflut::engine::EngineStack;

use crate::constant::Constant;
use crate::posterior::{FREEDOM, Posterior, UNDETERMINED};
use crate::priors::Priors;
use crate::residual::{Metric, Residual, Vector};

/// Number of times that the constants are fitted, each time around the last fit.
const ROUNDS: usize = 2;
/// Standard deviations of a normal distribution within which 80 % lie.
pub const EIGHTY: f64 = 1.281_551_565_544_600_4;

/// Mean times of a run in seconds; `None` if not known.
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
    /// The figures of the runs.
    pub rows: Vec<Row>,
    /// Standard deviation of the expected error of a prediction of such a run, as a logarithm, by [`Metric`].
    pub deviations: [f64; 2],
}

/// A fitted constant, in seconds or as a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// The constant.
    pub name: &'static str,
    /// The value before.
    pub shipped: f64,
    /// The fitted value.
    pub value: f64,
    /// Ends of its 80 % interval.
    pub interval: [f64; 2],
    /// Its standard deviation as a share of the one without measurements, among servers of the kinds that the runs point
    /// to: 1 if the runs do not depend on it.
    pub left: f64,
    /// The run that determines most of it.
    pub run: Option<usize>,
}

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Index of the run.
    pub run: usize,
    /// Error with the constants as they were, as ln(predicted / measured).
    pub before: f64,
    /// Error with the fitted constants.
    pub after: f64,
    /// Error with constants fitted to the other runs, to first order; `None` for the only run.
    pub left_out: Option<f64>,
    /// Its error to first order, by which later measurements are judged.
    pub residual: Residual,
}

impl Fitted {
    /// Returns whether the runs determine the constant; otherwise it has the value of before.
    pub fn is_determined(&self) -> bool {
        self.left <= UNDETERMINED
    }
}

impl Times {
    /// Returns the time of a metric.
    pub fn of(&self, metric: Metric) -> Option<f64> {
        metric.of([self.tpot, self.ttft])
    }

    /// Returns ln(these / `measured`).
    fn error(&self, measured: &Times, metric: Metric) -> Option<f64> {
        Some((self.of(metric)? / measured.of(metric)?).ln())
    }
}

/// Fits the constants of `stack` to measured runs of one server. `predict` returns the times of all runs.
///
/// Predicts once for each constant, for the derivatives, and three times more. Constants of which the runs
/// tell nothing stay, and all of them do if no fit agrees better with the runs than `stack`.
///
/// # Errors
/// The first error of `predict`.
pub fn calibrate<E>(
    stack: &EngineStack,
    measured: &[Times],
    priors: &Priors,
    predict: impl Fn(&EngineStack) -> Result<Vec<Times>, E>,
) -> Result<Calibration, E> {
    let rows = residuals(stack, measured, &predict)?;
    let only: Vec<Residual> = rows.iter().map(|(_, row)| *row).collect();
    let errors_of = |stack: &EngineStack| -> Result<Vec<f64>, E> {
        let times = predict(stack)?;
        let error = |(run, row): &(usize, Residual)| {
            let of_run = times.get(*run).zip(measured.get(*run));
            of_run.and_then(|(now, measured)| now.error(measured, row.metric)).unwrap_or(row.error)
        };
        Ok(rows.iter().map(error).collect())
    };
    let mut best = Fit::of(priors, &only, Vector::zeros(), only.iter().map(|row| row.error).collect(), only.clone());
    let mut linear = only.clone();
    for _ in 0..ROUNDS {
        let wanted = Posterior::new(priors, &linear).change(priors);
        let change = effective(stack, &wanted);
        let errors = errors_of(&shifted(stack, &change))?;
        for (row, error) in linear.iter_mut().zip(&errors) {
            row.error = error - row.slopes.dot(&change);
        }
        let fit = Fit::of(priors, &only, change, errors, linear.clone());
        if fit.loss < best.loss {
            best = fit;
        }
    }
    let runs: Vec<usize> = rows.iter().map(|(run, _)| *run).collect();
    let constants = Constant::ALL.iter().enumerate();
    let constants = constants.map(|(index, constant)| fitted(stack, constant, index, &best, priors, &runs));
    let deviations = Metric::ALL.map(|metric| best.posterior.deviation_of(metric, &only, &best.change));
    let of_rows = rows.iter().zip(&best.linear).zip(&best.errors).map(|(((run, row), linear), after)| {
        let others: Vec<Residual> = rows.iter().filter(|(other, _)| other != run).map(|(_, row)| *row).collect();
        let left_out = (!others.is_empty()).then(|| {
            let change = effective(stack, &Posterior::new(priors, &others).change(priors));
            row.error + row.slopes.dot(&change)
        });
        Row { run: *run, before: row.error, after: *after, left_out, residual: *linear }
    });
    Ok(Calibration {
        stack: shifted(stack, &best.change),
        constants: constants.collect(),
        rows: of_rows.collect(),
        deviations,
    })
}

/// A change of the constants, and its consequences.
struct Fit {
    loss: f64,
    change: Vector,
    errors: Vec<f64>,
    /// The errors before the change, to first order around it.
    linear: Vec<Residual>,
    /// The posterior of `linear`.
    posterior: Posterior,
}

impl Fit {
    fn of(priors: &Priors, rows: &[Residual], change: Vector, errors: Vec<f64>, linear: Vec<Residual>) -> Fit {
        let posterior = Posterior::new(priors, &linear);
        Fit { loss: loss(priors, rows, &errors, &change), change, errors, linear, posterior }
    }
}

/// Returns the errors of the runs with their derivatives, each with its run.
pub fn residuals<E>(
    stack: &EngineStack,
    measured: &[Times],
    predict: impl Fn(&EngineStack) -> Result<Vec<Times>, E>,
) -> Result<Vec<(usize, Residual)>, E> {
    let before = predict(stack)?;
    let moved = Constant::ALL.iter().map(|constant| {
        let mut stack = *stack;
        constant.shift(&mut stack, constant.step());
        predict(&stack)
    });
    let moved: Vec<Vec<Times>> = moved.collect::<Result<_, E>>()?;
    let mut rows = Vec::new();
    for (run, (measured, before)) in measured.iter().zip(&before).enumerate() {
        for metric in Metric::ALL {
            let Some(error) = before.error(measured, metric) else { continue };
            let slopes = Constant::ALL.iter().zip(&moved).map(|(constant, moved)| {
                let slope = moved.get(run).and_then(|moved| moved.error(before, metric));
                slope.unwrap_or(0.0) / constant.step()
            });
            rows.push((run, Residual { metric, error, slopes: Vector::from_iterator(slopes) }));
        }
    }
    Ok(rows)
}

/// Returns how badly a change agrees with the measurements and with the priors: minus twice the logarithm of its
/// probability, with the noise of Student's t and the priors of servers whose variances are ten times the usual ones.
fn loss(priors: &Priors, rows: &[Residual], errors: &[f64], change: &Vector) -> f64 {
    let squares = rows.iter().zip(errors).map(|(row, error)| {
        let scaled = (error / row.metric.of(priors.noise)).powi(2) / FREEDOM;
        (FREEDOM + 1.0) * scaled.ln_1p()
    });
    squares.sum::<f64>() + change.component_div(&priors.spreads).norm_squared() / 10.0
}

fn fitted(
    stack: &EngineStack,
    constant: &Constant,
    index: usize,
    fit: &Fit,
    priors: &Priors,
    runs: &[usize],
) -> Fitted {
    let of = |values: &Vector| values.get(index).copied().unwrap_or(0.0);
    let (change, deviation, left) = (of(&fit.change), of(&fit.posterior.deviation()), of(&fit.posterior.left(priors)));
    let at = |coordinate: f64| {
        let mut stack = *stack;
        constant.shift(&mut stack, coordinate);
        constant.value(&stack)
    };
    let [one, other] = [change - EIGHTY * deviation, change + EIGHTY * deviation].map(at);
    Fitted {
        name: constant.name,
        shipped: constant.value(stack),
        value: if change == 0.0 { constant.value(stack) } else { at(change) },
        interval: [one.min(other), one.max(other)],
        left,
        run: most_informative(index, fit, priors, runs),
    }
}

/// Returns the run whose figures determine most of a constant; `None` if none depends on it.
fn most_informative(index: usize, fit: &Fit, priors: &Priors, runs: &[usize]) -> Option<usize> {
    let mut by_run: BTreeMap<usize, f64> = BTreeMap::new();
    for ((row, weight), run) in fit.linear.iter().zip(&fit.posterior.rows).zip(runs) {
        let slope = row.slopes.get(index).copied().unwrap_or(0.0);
        *by_run.entry(*run).or_default() += weight * (slope / row.metric.of(priors.noise)).powi(2);
    }
    let most = by_run.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    most.filter(|(_, information)| *information > 0.0).map(|(run, _)| run)
}

/// Returns the change that constants can follow within their ranges.
fn effective(stack: &EngineStack, change: &Vector) -> Vector {
    let each = Constant::ALL.iter().zip(change.iter());
    Vector::from_iterator(each.map(|(constant, change)| match *change {
        0.0 => 0.0,
        change => constant.effective(stack, change),
    }))
}

/// Returns the stack with all constants moved.
fn shifted(stack: &EngineStack, change: &Vector) -> EngineStack {
    let mut stack = *stack;
    for (constant, change) in Constant::ALL.iter().zip(change.iter()).filter(|(_, change)| **change != 0.0) {
        constant.shift(&mut stack, *change);
    }
    stack
}
