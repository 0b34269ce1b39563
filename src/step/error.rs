//! Why there is no step model of a model on a table set.

use core::fmt;

use crate::error::ResolveError;
use crate::model::SpecError;

/// Why a [`RooflineModel`](super::RooflineModel) cannot be made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ModelError {
    /// The dimensions cannot be, or cannot be divided so.
    Spec(SpecError),
    /// The table set cannot answer for one of the kernels.
    Resolve(ResolveError),
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Spec(error) => write!(f, "model: {error}"),
            ModelError::Resolve(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ModelError::Spec(error) => Some(error),
            ModelError::Resolve(error) => Some(error),
        }
    }
}

impl From<SpecError> for ModelError {
    fn from(error: SpecError) -> ModelError {
        ModelError::Spec(error)
    }
}

impl From<ResolveError> for ModelError {
    fn from(error: ResolveError) -> ModelError {
        ModelError::Resolve(error)
    }
}
