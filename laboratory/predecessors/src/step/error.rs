//! Errors of the predecessors' models.

use std::fmt;

use crate::lookup::LookupError;
use rooflut::model::SpecError;

/// The error of building a predecessor's model, or of its answer for a step.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CompatError {
    /// The model's dimensions are invalid.
    Spec(SpecError),
    /// Layers differ in their heads or FFNs.
    Groups,
    /// Multi-head latent attention, a gated delta net, or attention with an output gate.
    OtherAttention,
    /// A table is missing, or its MFU is 0.000.
    Lookup(LookupError),
    /// The model cannot be divided among the ranks.
    Ranks {
        /// Ranks of tensor parallelism.
        tp: u32,
        /// All ranks.
        world: u32,
        /// Maximum tp of this model.
        max_tp: u32,
    },
}

impl fmt::Display for CompatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompatError::Spec(error) => write!(f, "model: {error}"),
            CompatError::Groups => f.write_str(
                "layers: expected equal heads and FFNs in all, found some that differ; the predecessors do not model them",
            ),
            CompatError::OtherAttention => f.write_str(
                "layers: expected heads that share keys and values, found latent attention (MLA), a gated delta net or \
                 an output gate; the predecessors do not model these",
            ),
            CompatError::Lookup(error) => error.fmt(f),
            CompatError::Ranks { tp, world, max_tp } => write!(
                f,
                "tp {tp}, world {world}: expected a tp of 1 to {max_tp} and a world of at least tp"
            ),
        }
    }
}

impl std::error::Error for CompatError {}

impl From<SpecError> for CompatError {
    fn from(error: SpecError) -> CompatError {
        CompatError::Spec(error)
    }
}

impl From<LookupError> for CompatError {
    fn from(error: LookupError) -> CompatError {
        CompatError::Lookup(error)
    }
}
