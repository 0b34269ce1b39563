//! All-reduce of one message over the GPUs of a node.

use crate::{Reference, Work};

/// The static part of an all-reduce: how many ranks take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct AllReduceShape {
    /// GPUs that reduce together (the tensor parallelism).
    pub ranks: u32,
}

impl AllReduceShape {
    /// Link traffic of a message of `bytes`: each rank sends it once. A ring needs
    /// `2 (ranks - 1) / ranks` of it, but switches that reduce in flight beat that.
    #[inline]
    pub fn work(&self, bytes: f64) -> Work {
        Work {
            flops: 0.0,
            bytes: 0.0,
            link_bytes: if self.ranks > 1 { bytes } else { 0.0 },
        }
    }

    /// Reference time of a message of `bytes`: launch time plus the bound.
    #[inline]
    pub fn reference_s(&self, bytes: f64, reference: &Reference) -> f64 {
        reference.t0_s + self.work(bytes).bound_s(&reference.rates)
    }

    /// The shape as one integer, for perfect hashing.
    #[inline]
    pub fn key(&self) -> u64 {
        u64::from(self.ranks)
    }
}
