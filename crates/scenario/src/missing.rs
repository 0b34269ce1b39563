//! Resources that a deployment lacks.

use std::fmt;

use rooflut::hardware::Dtype;
use serde::{Serialize, Serializer};

use crate::number::gib;

/// The resource that a deployment lacks to hold requests.
///
/// In JSON it is text: `60.8 GiB`, `context`, `batch`, `fp8 math`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Missing {
    /// Memory of each GPU for weights, activations and one KV block: that many bytes more.
    Memory(f64),
    /// KV entries for one of the requests.
    Context,
    /// KV entries for all requests.
    Batch,
    /// Math in a format of the weights.
    Math(Dtype),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Memory(bytes) => write!(f, "{} GiB", gib(*bytes)),
            Missing::Context => f.write_str("context"),
            Missing::Batch => f.write_str("batch"),
            Missing::Math(dtype) => write!(f, "{dtype} math"),
        }
    }
}

impl Serialize for Missing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
