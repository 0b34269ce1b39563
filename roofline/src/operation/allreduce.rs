//! All-reduce of one message over the GPUs of a node.

use super::{Column, Contradiction, Expected, Operation, codes, debug};
use crate::{Dtype, Reference, Work};

/// All-reduce over the GPUs of a node: `ranks` over message bytes.
pub const ALL_REDUCE: Operation = Operation {
    name: "allreduce",
    file: "allreduce.csv",
    description: "all-reduce over the GPUs of a node",
    shape: &[Column::count("ranks", "GPUs")],
    axes: &["bytes"],
    optional: &[],
    check: |codes| match AllReduceShape::from(*codes).ranks {
        ..2 => Err(Contradiction::new(
            "ranks",
            Expected::new("at least ", 2, ""),
            "one GPU has nothing to reduce: leave the row out",
        )),
        _ => Ok(()),
    },
    dtype: |_| Dtype::Bf16,
    work: |codes, [bytes, _]| AllReduceShape::from(*codes).work(f64::from(bytes)),
    reference_s: |codes, [bytes, _], reference| AllReduceShape::from(*codes).reference_s(f64::from(bytes), reference),
    debug: debug::<AllReduceShape>,
};

/// The static part of an all-reduce: the number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct AllReduceShape {
    /// GPUs that take part (the tensor parallelism).
    pub ranks: u32,
}

impl AllReduceShape {
    /// Returns the link traffic of a message of `bytes`: each rank sends it once. A ring needs `2 (ranks - 1) /
    /// ranks` times that, but switches that reduce in flight need less.
    #[inline]
    pub fn work(&self, bytes: f64) -> Work {
        Work { flops: 0.0, bytes: 0.0, link_bytes: if self.ranks > 1 { bytes } else { 0.0 } }
    }

    /// Returns the reference time of a message of `bytes`, seconds: launch time plus the bound.
    #[inline]
    pub fn reference_s(&self, bytes: f64, reference: &Reference) -> f64 {
        reference.t0_s + self.work(bytes).bound_s(&reference.rates)
    }
}

codes!(AllReduceShape [] [ranks]);
