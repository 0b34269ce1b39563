//! Why there is no step model of a model on a table set.

use core::fmt;

use super::Part;
use crate::engine::ConstantError;
use crate::error::ResolveError;
use crate::hardware::{Dtype, Text};
use crate::model::SpecError;
use crate::table::{Provenance, Strictness, TooUncertain};

/// Why a [`RooflineModel`](super::RooflineModel) cannot be made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ModelError {
    /// The dimensions cannot be, or cannot be divided so.
    Spec(SpecError),
    /// The GPU cannot multiply a dtype that every model needs.
    NoPeak {
        /// The GPU.
        gpu: Text,
        /// The dtype.
        dtype: Dtype,
    },
    /// The table set cannot answer for a kernel.
    Kernel {
        /// What the kernel is for.
        part: Part,
        /// Why it cannot.
        error: ResolveError,
    },
    /// A constant of the engine is out of range.
    Constant(ConstantError),
    /// A kernel's answers are of a worse class than the caller accepts, even at best.
    TooUncertain {
        /// What the kernel is for.
        part: Part,
        /// The set.
        set: Text,
        /// The best of its answers, and what is accepted.
        error: TooUncertain,
    },
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Spec(error) => write!(f, "model: {error}"),
            ModelError::NoPeak { gpu, dtype } => {
                write!(
                    f,
                    "GPU {gpu}: expected a peak for {dtype} in its data sheet, found none"
                )
            }
            ModelError::Kernel { part, error } => write!(f, "{part}: {error}"),
            ModelError::Constant(error) => error.fmt(f),
            ModelError::TooUncertain { part, set, error } => {
                write!(f, "{part}: table set {set}: {error}")
            }
        }
    }
}

impl core::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ModelError::Spec(error) => Some(error),
            ModelError::Kernel { error, .. } => Some(error),
            ModelError::NoPeak { .. }
            | ModelError::Constant(_)
            | ModelError::TooUncertain { .. } => None,
        }
    }
}

/// A part of a step that is less certain than the caller accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UncertainPart {
    /// The part.
    pub part: Part,
    /// Where its time comes from, and what is accepted.
    pub error: TooUncertain,
}

impl UncertainPart {
    /// Checks the looked-up times of parts.
    pub(super) fn check(
        strictness: Strictness,
        parts: impl Iterator<Item = (Part, Option<Provenance>)>,
    ) -> Result<(), UncertainPart> {
        let mut looked_up = parts.filter_map(|(part, provenance)| Some((part, provenance?)));
        looked_up.try_for_each(|(part, provenance)| {
            let checked = strictness.check(provenance);
            checked.map_err(|error| UncertainPart { part, error })
        })
    }
}

impl fmt::Display for UncertainPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.error)
    }
}

impl core::error::Error for UncertainPart {}

impl From<ConstantError> for ModelError {
    fn from(error: ConstantError) -> ModelError {
        ModelError::Constant(error)
    }
}

impl From<SpecError> for ModelError {
    fn from(error: SpecError) -> ModelError {
        ModelError::Spec(error)
    }
}
