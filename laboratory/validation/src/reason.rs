//! Reasons that a row cannot be predicted.

use std::fmt;

use rooflut::sim::{Rejection, StepTimeError};
use rooflut::{Error, ErrorKind, Invalid};

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

impl From<Error> for Reason {
    fn from(error: Error) -> Reason {
        let text = not_modelled::deployment(&error);
        match error.kind() {
            ErrorKind::Invalid(invalid) if !invalid.is_of_model() && invalid.setting() != "kv_blocks" => {
                Reason::of_row(text)
            }
            _ => Reason::of_server(text),
        }
    }
}

impl From<StepTimeError> for Reason {
    fn from(error: StepTimeError) -> Reason {
        Reason::of_row(error.to_string())
    }
}

impl From<Invalid> for Reason {
    fn from(invalid: Invalid) -> Reason {
        Error::from(invalid).into()
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
