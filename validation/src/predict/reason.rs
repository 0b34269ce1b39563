//! Why a row cannot be predicted.

use std::fmt;

use rooflut::model::{CATALOG, MemoryError};
use rooflut::sim::{Rejection, SimError};
use rooflut::step::ModelError;
use rooflut::table::sets;

use crate::compare::Metric;

/// Why a row cannot be predicted, or not compared.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Reason {
    /// No model of the catalogue has this name.
    UnknownModel(String),
    /// No table set is of this GPU.
    UnknownGpu(String),
    /// No such format of weights.
    UnknownDtype(String),
    /// Neither equal gaps nor a Poisson process.
    UnknownArrival(String),
    /// There is no step model of the model on the GPU.
    Step(ModelError),
    /// There is no room for a KV cache.
    Memory(MemoryError),
    /// The server cannot run.
    Sim(SimError),
    /// The server never serves such a request.
    Rejected(Rejection),
    /// Rate and duration make no request.
    NoRequests,
    /// Rate and duration make more requests than are simulated.
    TooManyRequests,
    /// Nothing is left of the prompt to compute.
    WholePromptCached,
    /// A step or a prompt without tokens.
    NoTokens,
    /// The row has no measurement.
    NothingMeasured,
    /// A measurement that no error can be taken of.
    NotPositive(Metric),
    /// A measurement of something that does not exist by the row's lengths: a TPOT without a second
    /// output token, or without a KV length to decode at.
    NoLengths(Metric),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::UnknownModel(name) => write!(
                f,
                "unknown model \"{name}\" ({} are known, `rooflut models` lists them)",
                CATALOG.len()
            ),
            Reason::UnknownGpu(name) => {
                let known: Vec<&str> = sets::ALL.iter().map(|set| set.name).collect();
                let known = known.join(", ");
                write!(f, "unknown GPU \"{name}\" (there are tables of {known})")
            }
            Reason::UnknownDtype(name) => write!(
                f,
                "unknown dtype \"{name}\" (expected bf16, fp16, fp8 or auto)"
            ),
            Reason::UnknownArrival(name) => {
                write!(
                    f,
                    "unknown arrival \"{name}\" (expected constant or poisson)"
                )
            }
            Reason::Step(error) => error.fmt(f),
            Reason::Memory(error) => error.fmt(f),
            Reason::Sim(error) => error.fmt(f),
            // Without the numbers of the single request, so that alike rows are counted together.
            Reason::Rejected(Rejection::TooLong { max_model_len, .. }) => write!(
                f,
                "prompt and output are longer than max_model_len ({max_model_len})"
            ),
            Reason::Rejected(Rejection::TooManyBlocks { kv_blocks, .. }) => {
                write!(f, "a request needs more than the {kv_blocks} KV blocks")
            }
            Reason::Rejected(Rejection::TooLate { .. }) => {
                write!(f, "a request arrives later than the clock can tell")
            }
            Reason::Rejected(rejection) => rejection.fmt(f),
            Reason::NoRequests => write!(f, "no request arrives at this rate in this time"),
            Reason::TooManyRequests => {
                write!(
                    f,
                    "more than 10 million requests arrive at this rate in this time"
                )
            }
            Reason::WholePromptCached => {
                write!(f, "the whole prompt is cached, nothing is left to compute")
            }
            Reason::NoTokens => write!(f, "no tokens to compute"),
            Reason::NothingMeasured => write!(f, "nothing was measured"),
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
