//! Calibration of an engine stack.

use std::collections::BTreeMap;

use rooflut::engine::EngineStack;

use crate::constant::Constant;
use crate::posterior::{Posterior, UNDETERMINED};
use crate::priors::Priors;
use crate::residual::{Metric, Residual, Vector};

/// Most rounds, each around the last fit.
const ROUNDS: usize = 4;
/// Shares of a step that are tried, until one agrees better.
const SHARES: [f64; 3] = [1.0, 0.5, 0.25];
/// Length of a step, in units of the constants, that changes nothing.
const SMALL: f64 = 1e-3;
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
        // A round may have moved one of which a later round finds that little depends on it.
        self.left <= UNDETERMINED || self.value.to_bits() != self.shipped.to_bits()
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
/// Each round predicts once for each constant, for the derivatives, and for the change that these ask for, which is halved
/// until it agrees better. Constants on which the runs do not depend stay, and all of them do if no change agrees better.
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
    let runs: Vec<usize> = rows.iter().map(|(run, _)| *run).collect();
    let before: Vec<Residual> = rows.into_iter().map(|(_, row)| row).collect();
    let mut fit = Fit::of(priors, Vector::zeros(), before.clone(), before.clone());
    for round in 0..ROUNDS {
        if round > 0 {
            let moved = shifted(stack, &fit.change);
            let rows: Vec<Residual> = residuals(&moved, measured, &predict)?.into_iter().map(|(_, row)| row).collect();
            let linear = rows.iter().map(|row| Residual { error: row.error - row.slopes.dot(&fit.change), ..*row });
            fit = Fit::of(priors, fit.change, rows.clone(), linear.collect());
        }
        let step = fit.posterior.change(priors) - fit.change;
        let before = fit.posterior.squares(&fit.rows);
        let better = SHARES.into_iter().map(|share| effective(stack, &(fit.change + share * step)));
        let mut found = None;
        for change in better.filter(|change| (change - fit.change).norm() > SMALL) {
            let rows = errors(&fit.rows, &runs, measured, &predict(&shifted(stack, &change))?);
            if fit.posterior.squares(&rows) < before {
                found = Some((change, rows));
                break;
            }
        }
        let Some((change, rows)) = found else { break };
        (fit.change, fit.rows) = (change, rows);
    }
    let constants = Constant::ALL.iter().enumerate();
    let constants = constants.map(|(index, constant)| fitted(stack, constant, index, &fit, priors, &runs));
    let deviations = Metric::ALL.map(|metric| fit.posterior.deviation_of(metric, &fit.linear, &fit.change));
    let of_rows = before.iter().zip(&fit.rows).zip(&fit.linear).zip(&runs).map(|(((before, after), linear), run)| {
        let others = fit.linear.iter().zip(&runs).filter(|(_, other)| *other != run).map(|(row, _)| *row);
        let others: Vec<Residual> = others.collect();
        let left_out = (!others.is_empty()).then(|| {
            let change = effective(stack, &Posterior::new(priors, &others).change(priors));
            linear.error + linear.slopes.dot(&change)
        });
        Row { run: *run, before: before.error, after: after.error, left_out, residual: *linear }
    });
    Ok(Calibration {
        stack: shifted(stack, &fit.change),
        constants: constants.collect(),
        rows: of_rows.collect(),
        deviations,
    })
}

/// A change of the constants, and its consequences.
struct Fit {
    change: Vector,
    /// The errors with the change.
    rows: Vec<Residual>,
    /// The errors without it, to first order around the point of the derivatives.
    linear: Vec<Residual>,
    /// The posterior of `linear`.
    posterior: Posterior,
}

impl Fit {
    fn of(priors: &Priors, change: Vector, rows: Vec<Residual>, linear: Vec<Residual>) -> Fit {
        let posterior = Posterior::new(priors, &linear);
        Fit { change, rows, linear, posterior }
    }
}

/// Returns rows with the errors of other predictions.
fn errors(rows: &[Residual], runs: &[usize], measured: &[Times], predicted: &[Times]) -> Vec<Residual> {
    let with_error = |(row, run): (&Residual, &usize)| {
        let of_run = predicted.get(*run).zip(measured.get(*run));
        let error = of_run.and_then(|(predicted, measured)| predicted.error(measured, row.metric));
        Residual { error: error.unwrap_or(row.error), ..*row }
    };
    rows.iter().zip(runs).map(with_error).collect()
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
