//! All-gather and reduce-scatter of one message over the GPUs of a node.

use super::{Codes, Column, Contradiction, Expected, Operation, codes, debug};
use crate::{Dtype, Reference, Work};

/// All-gather over the GPUs of a node: `ranks` over the bytes of the gathered message.
pub const ALL_GATHER: Operation = Operation {
    name: "allgather",
    file: "allgather.csv",
    description: "all-gather over the GPUs of a node",
    axes: &["gathered_bytes"],
    ..REDUCE_SCATTER
};

/// Reduce-scatter over the GPUs of a node: `ranks` over the bytes of the message before it is scattered.
pub const REDUCE_SCATTER: Operation = Operation {
    name: "reducescatter",
    file: "reducescatter.csv",
    description: "reduce-scatter over the GPUs of a node",
    shape: &[Column::count("ranks", "GPUs")],
    axes: &["scattered_bytes"],
    optional: &[],
    check,
    dtype: |_| Dtype::Bf16,
    work: |codes, [bytes, _]| GatherShape::from(*codes).work(f64::from(bytes)),
    reference_s: |codes, [bytes, _], reference| GatherShape::from(*codes).reference_s(f64::from(bytes), reference),
    debug: debug::<GatherShape>,
};

fn check(codes: &Codes) -> Result<(), Contradiction> {
    match GatherShape::from(*codes).ranks {
        ..2 => Err(Contradiction::new(
            "ranks",
            Expected::new("at least ", 2, ""),
            "one GPU has nothing to exchange: leave the row out",
        )),
        _ => Ok(()),
    }
}

/// The static part of an all-gather or a reduce-scatter: the number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct GatherShape {
    /// GPUs that take part.
    pub ranks: u32,
}

impl GatherShape {
    /// Returns the link traffic of a whole message of `bytes`: each rank has one part of the message and receives the
    /// other parts, or keeps one part and sends the other parts.
    #[inline]
    pub fn work(&self, bytes: f64) -> Work {
        Work { flops: 0.0, bytes: 0.0, link_bytes: bytes * (1.0 - 1.0 / f64::from(self.ranks.max(1))) }
    }

    /// Returns the reference time of a whole message of `bytes`, seconds: launch time plus the bound.
    #[inline]
    pub fn reference_s(&self, bytes: f64, reference: &Reference) -> f64 {
        reference.t0_s + self.work(bytes).bound_s(&reference.rates)
    }
}

codes!(GatherShape [] [ranks]);
