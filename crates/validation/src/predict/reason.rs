//! Reasons that a row cannot be predicted.

use std::fmt;

use rooflut::deployment::DeploymentError;
use rooflut::model::{CATALOG, MemoryError};
use rooflut::sim::{Rejection, SimError};
use rooflut::step::ModelError;
use rooflut::table::sets;

use super::not_modelled;
use crate::compare::Metric;
use crate::tally::Remark;

/// The reason that a row cannot be predicted or compared.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Reason {
    /// The name is unknown.
    Unknown {
        /// Kind of thing that the name is for.
        what: Named,
        /// The name.
        name: String,
    },
    /// The step model cannot be built for this model and GPU.
    Step(ModelError),
    /// The deployment is invalid for another reason.
    Deployment(DeploymentError),
    /// The memory has no room for a KV cache.
    Memory(MemoryError),
    /// The server cannot run.
    Sim(SimError),
    /// The server rejects such a request.
    Rejected(Rejection),
    /// Rate and duration give no request.
    NoRequests,
    /// Rate and duration give more requests than are simulated.
    TooManyRequests,
    /// The requests have more output tokens than are simulated.
    TooManyTokens,
    /// More tokens of a prompt are cached than it has.
    CachedBeyondPrompt,
    /// A step or a prompt has no tokens.
    NoTokens,
    /// A step has more requests than a server runs at once.
    TooManyInStep {
        /// Maximum number of requests.
        most: u32,
    },
    /// Requests decode at a KV length of 0 or less.
    ContextNotPositive,
    /// Requests decode at a KV length beyond the longest request.
    ContextTooLong {
        /// Maximum length of a request.
        max_model_len: u32,
    },
    /// The row has no measurement.
    NothingMeasured,
    /// A measurement is 0 or less, or so small that its relative error overflows.
    NotPositive(Metric),
    /// The row has a measurement without the lengths that define it: a TPOT without a second output
    /// token, or without a KV length to decode at.
    NoLengths(Metric),
}

/// Kinds of names in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A model of the catalogue.
    Model,
    /// A GPU with tables.
    Gpu,
    /// A format of weights.
    Dtype,
    /// A format of KV entries.
    KvDtype,
    /// An arrival process: equal gaps or Poisson.
    Arrival,
}

impl Named {
    /// The words before one unknown name, and before several.
    fn words(self) -> [&'static str; 2] {
        match self {
            Named::Model => ["unknown model", "unknown models"],
            Named::Gpu => ["unknown GPU", "unknown GPUs"],
            Named::Dtype => ["unknown dtype", "unknown dtypes"],
            Named::KvDtype => ["unknown KV dtype", "unknown KV dtypes"],
            Named::Arrival => ["unknown arrival", "unknown arrivals"],
        }
    }

    /// Describes the known names.
    fn known(self) -> String {
        match self {
            Named::Model => format!("{} are known, `rooflut models` lists them", CATALOG.len()),
            Named::Gpu => {
                let known: Vec<&str> = sets::ALL.iter().map(|set| set.name()).collect();
                format!("there are tables of {}", known.join(", "))
            }
            Named::Dtype => "expected bf16, fp16, fp8, fp8_block, nvfp4 or auto".to_owned(),
            Named::KvDtype => "expected bf16, fp8, fp8_e4m3, fp8_e5m2 or auto".to_owned(),
            Named::Arrival => "expected constant or poisson".to_owned(),
        }
    }

    fn unknown(self, name: &str) -> Remark {
        Remark::naming(self.words(), name, &format!(" ({})", self.known()))
    }
}

impl Reason {
    pub(super) fn unknown(what: Named, name: &str) -> Reason {
        Reason::Unknown {
            what,
            name: name.to_owned(),
        }
    }

    /// The reason as a remark, so that similar rows are counted together.
    pub(crate) fn remark(&self) -> Remark {
        match self {
            Reason::Unknown { what, name } => what.unknown(name),
            other => Remark::new(other.to_string()),
        }
    }

    /// Returns whether another model, GPU or tensor parallelism could remove the reason.
    pub(crate) fn depends_on_server(&self) -> bool {
        matches!(
            self,
            Reason::Step(_)
                | Reason::Memory(_)
                | Reason::Rejected(Rejection::TooLong { .. } | Rejection::TooManyBlocks { .. })
                | Reason::ContextTooLong { .. }
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unknown { what, name } => what.unknown(name).fmt(f),
            Reason::Step(error) => not_modelled::step(f, error),
            Reason::Deployment(error) => error.fmt(f),
            Reason::Memory(error) => not_modelled::memory(f, error),
            Reason::Sim(error) => not_modelled::server(f, error),
            Reason::Rejected(rejection) => not_modelled::request(f, rejection),
            Reason::NoRequests => f.write_str("no request arrives at this rate in this time"),
            Reason::TooManyRequests => {
                f.write_str("more than 10 million requests arrive at this rate in this time")
            }
            Reason::TooManyTokens => {
                f.write_str("more than 2 billion output tokens are not simulated")
            }
            Reason::CachedBeyondPrompt => f.write_str("more of a prompt is cached than there is"),
            Reason::NoTokens => f.write_str("no tokens to compute"),
            Reason::TooManyInStep { most } => {
                write!(f, "more than {most} requests decode in one step")
            }
            Reason::ContextNotPositive => f.write_str("the mean context is 0 or less"),
            Reason::ContextTooLong { max_model_len } => write!(
                f,
                "the mean context is longer than max_model_len ({max_model_len})"
            ),
            Reason::NothingMeasured => f.write_str("nothing was measured"),
            Reason::NotPositive(metric) => {
                write!(f, "the measured {} is 0 or less", metric.name())
            }
            Reason::NoLengths(metric) => write!(
                f,
                "a {} was measured that the row gives no lengths for",
                metric.name()
            ),
        }
    }
}

impl std::error::Error for Reason {}

impl From<DeploymentError> for Reason {
    fn from(error: DeploymentError) -> Reason {
        match error {
            DeploymentError::Model(error) => Reason::Step(error),
            DeploymentError::Memory(error) => Reason::Memory(error),
            DeploymentError::Limits(error) => Reason::Sim(error),
            other => Reason::Deployment(other),
        }
    }
}

impl From<ModelError> for Reason {
    fn from(error: ModelError) -> Reason {
        Reason::Step(error)
    }
}

impl From<MemoryError> for Reason {
    fn from(error: MemoryError) -> Reason {
        Reason::Memory(error)
    }
}

impl From<SimError> for Reason {
    fn from(error: SimError) -> Reason {
        Reason::Sim(error)
    }
}

impl From<Rejection> for Reason {
    fn from(rejection: Rejection) -> Reason {
        Reason::Rejected(rejection)
    }
}
