//! Errors of memory plans.

use core::fmt;

use super::SpecError;

/// The error of a memory plan.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum MemoryError {
    /// Weights and overheads alone exceed the usable memory.
    DoesNotFit {
        /// Bytes that the model needs on one rank, one KV block included.
        needed_bytes: f64,
        /// Bytes that the engine may use.
        usable_bytes: f64,
    },
    /// Weights fit, but not together with the states of a request in gated delta nets and a KV block.
    StatesDoNotFit {
        /// Bytes that the states of a request need on one rank, with a KV block.
        needed_bytes: f64,
        /// Bytes left for the KV cache.
        left_bytes: f64,
    },
    /// The KV cache holds no request at all: each group of layers needs a block, and each state its own block.
    TooFewBlocks {
        /// The blocks of a request of one token.
        needed: u32,
        /// The blocks of the KV cache.
        found: u32,
    },
    /// The KV cache holds less than the requested longest request.
    ContextTooLong {
        /// The longest request that the KV cache holds, tokens.
        longest: u32,
        /// The given `max_model_len`.
        found: u32,
    },
    /// The dimensions of the model are invalid or not divisible by the ranks.
    Spec(SpecError),
    /// The share of memory is not above 0 and at most 1.
    Utilization {
        /// The share found.
        found: f64,
    },
    /// A limit that must be positive is zero.
    ZeroLimit {
        /// The field of [`MemoryLimits`](super::MemoryLimits).
        limit: &'static str,
    },
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            MemoryError::DoesNotFit { needed_bytes, usable_bytes } => write!(
                f,
                "the model does not fit: expected at most {:.1} GiB per GPU, found {:.1} GiB of \
                 weights, activations and one KV block, {:.1} GiB too much; use a larger tp",
                usable_bytes / GIB,
                needed_bytes / GIB,
                (needed_bytes - usable_bytes) / GIB
            ),
            MemoryError::StatesDoNotFit { needed_bytes, left_bytes } => write!(
                f,
                "the states of a request do not fit: expected at most {:.2} GiB per GPU beside the weights, found {:.2} \
                 GiB of pages of its gated delta nets and one KV block; use a larger tp",
                left_bytes / GIB,
                needed_bytes / GIB,
            ),
            MemoryError::TooFewBlocks { needed, found } => write!(
                f,
                "kv_blocks: expected at least {needed}, which a request of one token takes, found {found}; raise it, or \
                 use a larger tp"
            ),
            MemoryError::ContextTooLong { longest, found } => write!(
                f,
                "max_model_len: expected at most {longest} tokens, which the KV cache holds, found {found}; lower it, \
                 or use a larger tp"
            ),
            MemoryError::Spec(error) => write!(f, "model: {error}"),
            MemoryError::Utilization { found } => {
                write!(f, "gpu_memory_utilization: expected a number above 0 and at most 1, found {found}")
            }
            MemoryError::ZeroLimit { limit } => {
                write!(f, "{limit}: expected at least 1, found 0")
            }
        }
    }
}

impl core::error::Error for MemoryError {}

const GIB: f64 = (1_u64 << 30) as f64;
