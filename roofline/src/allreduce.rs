//! All-reduce of one message over the GPUs of a node.

use crate::Work;

/// The static part of an all-reduce: how many ranks take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllReduceShape {
    /// GPUs that reduce together (the tensor parallelism).
    pub ranks: u32,
}

impl AllReduceShape {
    /// Link traffic of a message of `bytes`: each rank sends it once. A ring needs
    /// `2 (ranks - 1) / ranks` of it, but switches that reduce in flight beat that.
    pub fn work(&self, bytes: f64) -> Work {
        Work { flops: 0.0, bytes: 0.0, link_bytes: if self.ranks > 1 { bytes } else { 0.0 } }
    }

    /// The shape as one integer, for perfect hashing.
    pub fn packed(&self) -> Option<u64> {
        Some(u64::from(self.ranks))
    }
}
