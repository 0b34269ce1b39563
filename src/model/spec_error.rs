//! Errors of dimensions.

use core::fmt;

use super::Span;

/// The error of invalid dimensions, or of a model that cannot be divided among the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// A dimension is zero.
    Zero {
        /// Its name.
        field: &'static str,
    },
    /// A dimension is larger than any model's.
    TooLarge {
        /// Its name.
        field: &'static str,
        /// Its value.
        found: u32,
        /// The maximum.
        limit: u32,
    },
    /// A dimension is not divisible by another.
    NotDivisible {
        /// The dividend.
        field: &'static str,
        /// Its value.
        found: u32,
        /// The divisor.
        by: &'static str,
        /// Its value.
        divisor: u32,
    },
    /// More experts per token than experts.
    TopK {
        /// Experts per token.
        top_k: u32,
        /// Experts.
        experts: u32,
    },
    /// Expert parallelism of a model without experts.
    NoExperts,
    /// Data-parallel ranks of a model without experts. Such ranks share nothing.
    IndependentRanks {
        /// The number of ranks.
        dp: u32,
    },
    /// Multi-token prediction with a model that has no layer for it.
    NoMtp,
    /// Pipeline stages of several data-parallel ranks: not modelled.
    RanksOfStages {
        /// The number of stages.
        pp: u32,
        /// The number of ranks.
        dp: u32,
    },
    /// Too many groups of equal layers.
    Groups {
        /// The maximum.
        most: usize,
    },
    /// Layers with windows or chunks that differ.
    Spans {
        /// Span of the first such layers.
        first: Span,
        /// Another one.
        other: Span,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::Zero { field } => write!(f, "{field}: expected a positive number, found 0"),
            SpecError::TooLarge { field, found, limit } => {
                write!(f, "{field}: expected at most {limit}, found {found}")
            }
            SpecError::NotDivisible { field, found, by, divisor } => {
                write!(f, "{field}: expected a multiple of {by} ({divisor}), found {found}")
            }
            SpecError::TopK { top_k, experts } => {
                write!(f, "top_k: expected at most the {experts} experts, found {top_k}")
            }
            SpecError::NoExperts => {
                f.write_str("expert_parallel: expected a model with experts, found none; leave it out")
            }
            SpecError::IndependentRanks { dp } => write!(
                f,
                "dp: expected 1, as ranks of a model without experts share nothing, found {dp}; use {dp} replicas"
            ),
            SpecError::NoMtp => f.write_str(
                "mtp_layers: expected a model with layers for multi-token prediction, found none; use a draft model",
            ),
            SpecError::RanksOfStages { pp, dp } => write!(
                f,
                "pp: expected 1, as pipelines of {dp} data-parallel ranks are not modelled, found {pp}; use tp"
            ),
            SpecError::Groups { most } => {
                write!(f, "layers: expected at most {most} groups of equal layers, found more")
            }
            SpecError::Spans { first, other } => {
                write!(
                    f,
                    "layers: expected one length of windows or chunks, found {first} and {other}; such models are not \
                     modelled"
                )
            }
        }
    }
}

impl core::error::Error for SpecError {}
