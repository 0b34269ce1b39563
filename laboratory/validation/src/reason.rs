//! Reasons that a row cannot be predicted.

use std::fmt;

use rooflut::deployment::DeploymentError;
use rooflut::model::MemoryError;
use rooflut::sim::{Rejection, SimError, StepTimeError};

use crate::compare::Metric;
use crate::not_modelled;
use crate::tally::Remark;

/// The reason that a row cannot be predicted or compared.
#[derive(Debug, Clone)]
pub(crate) struct Reason {
    /// The reason in words, so that similar rows are counted together.
    pub(crate) remark: Remark,
    /// Whether another model, GPU or tensor parallelism could remove the reason.
    pub(crate) depends_on_server: bool,
}

impl Reason {
    /// A reason in the row itself.
    pub(crate) fn of_row(text: impl Into<String>) -> Reason {
        Reason { remark: Remark::new(text), depends_on_server: false }
    }

    /// A reason in the model, the GPU or their number.
    pub(crate) fn of_server(text: impl Into<String>) -> Reason {
        Reason { remark: Remark::new(text), depends_on_server: true }
    }

    /// `what` is called `name`, which is unknown; `known` describes the names that are known.
    pub(crate) fn unknown(what: &str, name: &str, known: &str) -> Reason {
        let before = [format!("unknown {what}"), format!("unknown {what}s")];
        let before = before.each_ref().map(String::as_str);
        Reason { remark: Remark::naming(before, name, &format!(" ({known})")), depends_on_server: false }
    }

    /// The measurement is 0 or less, or so small that its relative error overflows.
    pub(crate) fn not_positive(metric: Metric) -> Reason {
        Reason::of_row(format!("the measured {} is 0 or less", metric.name()))
    }

    pub(crate) fn no_tokens() -> Reason {
        Reason::of_row("no tokens to compute")
    }

    pub(crate) fn context_not_positive() -> Reason {
        Reason::of_row("the mean context is 0 or less")
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.remark.fmt(f)
    }
}

impl From<DeploymentError> for Reason {
    fn from(error: DeploymentError) -> Reason {
        match error {
            DeploymentError::Model(error) => Reason::of_server(not_modelled::step(&error)),
            DeploymentError::Memory(error) => error.into(),
            DeploymentError::Limits(error) => error.into(),
            other => Reason::of_row(other.to_string()),
        }
    }
}

impl From<MemoryError> for Reason {
    fn from(error: MemoryError) -> Reason {
        Reason::of_server(not_modelled::memory(&error))
    }
}

impl From<StepTimeError> for Reason {
    fn from(error: StepTimeError) -> Reason {
        SimError::from(error).into()
    }
}

impl From<SimError> for Reason {
    fn from(error: SimError) -> Reason {
        Reason::of_row(not_modelled::server(&error))
    }
}

impl From<Rejection> for Reason {
    fn from(rejection: Rejection) -> Reason {
        Reason {
            remark: Remark::new(not_modelled::request(&rejection)),
            depends_on_server: matches!(rejection, Rejection::TooLong { .. } | Rejection::TooManyBlocks { .. }),
        }
    }
}
