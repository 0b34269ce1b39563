//! Why a question has no answer.

use std::fmt;

use rooflut_scenario::{Problem, RunError, ScenarioError, grouped};

use crate::limit::{Figure, Limit};

/// Why a question has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlanError {
    /// The scenario cannot be run on any deployment.
    Run(RunError),
    /// A figure is not known, as too few requests have it.
    NoFigure {
        /// The limit on it.
        limit: Limit,
        /// Requests that were served.
        completed: u64,
    },
    /// A choice is empty or out of range.
    Choice {
        /// The choice.
        choice: &'static str,
        /// The accepted values.
        expected: &'static str,
        /// The value.
        found: String,
    },
    /// Several GPUs are to be compared, and the price of one is not known.
    NoPrice {
        /// The GPU.
        gpu: String,
    },
    /// No rate is served in full.
    NoRate {
        /// The lowest rate that was tried, requests or sessions per second.
        lowest: f64,
        /// Rejected requests at this rate.
        rejected: u64,
    },
    /// The runs do not overload the servers at any rate.
    NoOverload {
        /// Requests of each run.
        requests: u64,
    },
    /// No deployment can serve the model.
    NoDeployment {
        /// Each deployment and why it cannot.
        reasons: Vec<String>,
    },
}

impl PlanError {
    /// A key of the scenario that the answer does not depend on, or determines.
    pub(crate) fn no_effect(key: &'static str, why: &'static str) -> PlanError {
        PlanError::Run(RunError::Scenario(ScenarioError::from(Problem::NoEffect { key, why })))
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Run(error) => error.fmt(f),
            PlanError::NoFigure { limit, completed } => {
                let (needed, known) = (limit.figure().least_requests(), Figure::highest_of(*completed));
                if *completed < needed {
                    write!(
                        f,
                        "{limit}: expected at least {needed} served requests for this figure, found {}; use {} or more \
                         requests",
                        grouped(*completed),
                        limit.on(known)
                    )
                } else {
                    write!(
                        f,
                        "{limit}: expected requests of several output tokens, found {} of one; leave the limit \
                         out",
                        grouped(*completed)
                    )
                }
            }
            PlanError::Choice { choice, expected, found } => {
                write!(f, "{choice}: expected {expected}, found {found}; correct it")
            }
            PlanError::NoPrice { gpu } => write!(
                f,
                "{gpu}: expected a price, by which different GPUs are compared, found none; add it to the prices"
            ),
            PlanError::NoRate { lowest, rejected: 0 } => write!(
                f,
                "the servers do not keep up with a rate of {lowest:.3} per second; use more or faster servers"
            ),
            PlanError::NoRate { lowest, rejected } => write!(
                f,
                "{rejected} requests of a run are rejected even at a rate of {lowest:.3} per second; use shorter \
                 requests, or a longer queue"
            ),
            PlanError::NoOverload { requests } => {
                write!(f, "{requests} requests do not overload the servers at any rate; use more requests")
            }
            PlanError::NoDeployment { reasons } => match reasons.as_slice() {
                [] => f.write_str(
                    "no deployment is within the limit on GPUs; allow more GPUs or lower degrees of parallelism",
                ),
                [first, others @ ..] => {
                    write!(f, "no deployment of {} can serve the model; the first: {first}", others.len() + 1)
                }
            },
        }
    }
}

impl std::error::Error for PlanError {}

impl From<RunError> for PlanError {
    fn from(error: RunError) -> PlanError {
        PlanError::Run(error)
    }
}
