//! Errors of step models.

use core::fmt;

use super::Part;
use crate::engine::ConstantError;
use crate::error::ResolveError;
use crate::hardware::{Dtype, Text};
use crate::model::SpecError;
use crate::table::{Provenance, Strictness, TooUncertain};

/// The error of building a [`RooflineModel`](super::RooflineModel).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ModelError {
    /// The dimensions are invalid or not divisible.
    Spec(SpecError),
    /// The GPU does not support a dtype that every model needs.
    NoPeak {
        /// The GPU.
        gpu: Text,
        /// The dtype.
        dtype: Dtype,
    },
    /// The table set cannot answer for a kernel.
    Kernel {
        /// The part of the step that the kernel belongs to.
        part: Part,
        /// The reason.
        error: ResolveError,
    },
    /// A constant of the engine is out of range.
    Constant(ConstantError),
    /// A property of the network is out of range.
    Network {
        /// Its name.
        field: &'static str,
        /// Its value.
        found: f64,
    },
    /// The model or its parallelism needs the feature `alloc`, which is off.
    NeedsAlloc {
        /// The part that needs it, in the plural.
        what: &'static str,
    },
    /// Even the best answers of a kernel are of a worse class than the caller accepts.
    TooUncertain {
        /// The part of the step that the kernel belongs to.
        part: Part,
        /// The set.
        set: Text,
        /// The best of its answers, and the accepted ones.
        error: TooUncertain,
    },
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Spec(error) => write!(f, "model: {error}"),
            ModelError::NoPeak { gpu, dtype } => {
                write!(f, "GPU {gpu}: expected a peak for {dtype} in its data sheet, found none")
            }
            ModelError::Kernel { part, error } => write!(f, "{part}: {error}"),
            ModelError::Constant(error) => error.fmt(f),
            ModelError::Network { field, found } => {
                write!(f, "network: {field}: expected a positive number, found {found}; correct it")
            }
            ModelError::NeedsAlloc { what } => {
                write!(f, "{what} need the feature alloc of rooflut, which is off; turn it on")
            }
            ModelError::TooUncertain { part, set, error } => {
                write!(f, "{part}: table set {set}: {error}")
            }
        }
    }
}

/// Has no source: its message contains that of the error that it wraps.
impl core::error::Error for ModelError {}

/// A part of a step that is less certain than the caller accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UncertainPart {
    /// The part.
    pub part: Part,
    /// The provenance of its time, and the accepted ones.
    pub error: TooUncertain,
}

impl UncertainPart {
    /// Checks the looked-up times of parts. Reports the least certain part: accepting it accepts the class of all.
    pub(super) fn check(
        strictness: Strictness,
        parts: impl Iterator<Item = (Part, Option<Provenance>)>,
    ) -> Result<(), UncertainPart> {
        let looked_up = parts.filter_map(|(part, provenance)| Some((part, provenance?)));
        let refused = looked_up.filter_map(|(part, provenance)| {
            let error = strictness.check(provenance).err()?;
            Some(UncertainPart { part, error })
        });
        // The first of equals, as a reader would find it.
        let worst = refused.reduce(|worst, other| {
            let certainty = |part: &UncertainPart| (part.error.found.class, part.error.found.extent);
            if certainty(&other) > certainty(&worst) { other } else { worst }
        });
        worst.map_or(Ok(()), Err)
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
