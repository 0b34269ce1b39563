//! Errors of deployments.

use core::fmt;

use crate::engine::ConstantError;
use crate::model::MemoryError;
use crate::step::ModelError;

/// The error of building a [`Deployment`](super::Deployment).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DeploymentError {
    /// The step model cannot be built: dimensions are invalid or not divisible, or the tables lack a kernel.
    Model(ModelError),
    /// The step model of the draft model cannot be built.
    Draft(ModelError),
    /// A constant of the engine stack is out of range.
    Engine(ConstantError),
    /// The draft model has another vocabulary, so it cannot propose tokens of the target.
    DraftVocabulary {
        /// Vocabulary of the draft model.
        found: u32,
        /// Vocabulary of the target.
        expected: u32,
    },
    /// Requests may be longer than the draft model supports.
    DraftContext {
        /// Maximum length of the draft model.
        longest: u32,
        /// The given `max_model_len`.
        found: u32,
    },
    /// Several data-parallel ranks where a single server is asked for.
    #[cfg(feature = "sim")]
    SeveralRanks {
        /// The number of ranks.
        dp: u32,
    },
    /// A draft model or MTP layer beside a target of several pipeline stages, which is not modelled.
    PipelinedDraft {
        /// The number of stages.
        stages: u32,
    },
    /// A draft model or MTP layer without speculative decoding.
    DraftWithoutSpeculation,
    /// A memory limit is out of range.
    Memory(MemoryError),
    /// A limit of the server is out of range, or two of them contradict each other.
    #[cfg(feature = "sim")]
    Limits(crate::sim::SimError),
}

impl fmt::Display for DeploymentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeploymentError::Model(error) => error.fmt(f),
            DeploymentError::Engine(error) => error.fmt(f),
            DeploymentError::Draft(error) => write!(f, "draft model: {error}"),
            DeploymentError::DraftVocabulary { found, expected } => write!(
                f,
                "draft model: expected the vocabulary of the target ({expected}), found {found}; use a draft \
                 model of the same family"
            ),
            DeploymentError::DraftContext { longest, found } => write!(
                f,
                "max_model_len: expected at most {longest}, the longest request of the draft model, found \
                 {found}; lower it"
            ),
            #[cfg(feature = "sim")]
            DeploymentError::SeveralRanks { dp } => {
                write!(f, "dp: expected a single rank, found {dp}, which step together; use Deployment::lockstep")
            }
            DeploymentError::PipelinedDraft { stages } => write!(
                f,
                "draft model or MTP layer: expected none with {stages} pipeline stages, found one, which is not modelled; use one \
                 pipeline stage"
            ),
            DeploymentError::DraftWithoutSpeculation => write!(
                f,
                "draft model or MTP layer: expected the number of drafted tokens and their acceptance rate, found neither; \
                 set the speculation"
            ),
            DeploymentError::Memory(error) => error.fmt(f),
            #[cfg(feature = "sim")]
            DeploymentError::Limits(error) => error.fmt(f),
        }
    }
}

/// Has no source: its message contains that of the error that it wraps.
impl core::error::Error for DeploymentError {}
