//! Why a question has no answer.

use std::fmt;

use rooflut_scenario::{Problem, RunError, ScenarioError};

use crate::limit::Limit;

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
    /// A price is not a positive number.
    Price {
        /// The table set of the GPU.
        gpu: String,
        /// Its price.
        found: f64,
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
        PlanError::Run(RunError::Scenario(ScenarioError::from(Problem::NoEffect {
            key,
            why,
        })))
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Run(error) => error.fmt(f),
            PlanError::NoFigure { limit, completed } => write!(
                f,
                "{limit}: {completed} served requests are too few for this figure, or have one output token each; use \
                 more requests or another figure"
            ),
            PlanError::Choice {
                choice,
                expected,
                found,
            } => write!(f, "{choice}: expected {expected}, found {found}; correct it"),
            PlanError::Price { gpu, found } => write!(
                f,
                "price of {gpu}: expected a positive number, found {found}; correct it"
            ),
            PlanError::NoDeployment { reasons } => match reasons.as_slice() {
                [] => f.write_str(
                    "no deployment is within the limit on GPUs; allow more GPUs or lower degrees of parallelism",
                ),
                [first, others @ ..] => write!(
                    f,
                    "no deployment of {} can serve the model; the first: {first}",
                    others.len() + 1
                ),
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
