//! A fused mixture-of-experts layer: gate, up and down projections of the chosen experts.

use super::{Column, Contradiction, Expected, Operation, codes, debug};
use crate::math::{exp, ln};
use crate::{Dtype, Reference, Work};

/// Fused mixture-of-experts layer: `dtype, experts, top_k, hidden, intermediate, tp` over tokens.
pub const MOE: Operation = Operation {
    name: "moe",
    file: "moe.csv",
    description: "fused mixture-of-experts layer",
    feature: None,
    shape: &[
        Column::dtype("dtype"),
        Column::count("experts"),
        Column::count("top_k"),
        Column::count("hidden"),
        Column::count("intermediate"),
        Column::count("tp"),
    ],
    axes: &["tokens"],
    optional: &["mfu"],
    check: |codes| check(&MoeShape::from(*codes)),
    dtype: |codes| MoeShape::from(*codes).dtype,
    work: |codes, [tokens, _]| MoeShape::from(*codes).work(f64::from(tokens)),
    reference_s: |codes, [tokens, _], reference| {
        MoeShape::from(*codes).reference_s(f64::from(tokens), reference)
    },
    debug: debug::<MoeShape>,
};

/// The static part of a fused MoE layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct MoeShape {
    /// Format of the experts' weights.
    pub dtype: Dtype,
    /// Number of experts of the layer.
    pub experts: u32,
    /// Experts per token.
    pub top_k: u32,
    /// Hidden size of the model.
    pub hidden: u32,
    /// Intermediate size of one expert, before tensor parallelism.
    pub intermediate: u32,
    /// Tensor parallelism, which divides the intermediate size.
    pub tp: u32,
}

impl MoeShape {
    /// Returns FLOPs (3 projections, 2 hidden intermediate/tp each, `top_k` experts per token) and bytes of the
    /// activations and of the weights of `experts_read` experts, on one rank.
    #[inline]
    fn work_reading(&self, tokens: f64, experts_read: f64) -> Work {
        let weights = 3.0 * f64::from(self.hidden) * self.local_intermediate();
        let activations = tokens * f64::from(self.hidden) * (self.dtype.activation_bytes() + 2.0);
        Work {
            flops: 2.0 * tokens * f64::from(self.top_k) * weights,
            bytes: experts_read * weights * self.dtype.weight_bytes() + activations,
            link_bytes: 0.0,
        }
    }

    /// Returns the compulsory work: all tokens may choose the same `top_k` experts.
    #[inline]
    pub fn work(&self, tokens: f64) -> Work {
        self.work_reading(tokens, f64::from(self.top_k))
    }

    /// Returns the work with uniform routing, which reaches `experts (1 - (1 - top_k/experts)^tokens)` experts on
    /// average. An estimate, not a bound.
    #[inline]
    pub fn expected_work(&self, tokens: f64) -> Work {
        let (experts, top_k) = (f64::from(self.experts), f64::from(self.top_k));
        let missed = if top_k < experts {
            exp(tokens * ln(1.0 - top_k / experts))
        } else {
            0.0
        };
        self.work_reading(tokens, (experts * (1.0 - missed)).max(top_k))
    }

    /// Returns the reference time of `tokens` tokens, seconds: the sum of launch time, matrix math and the reads of
    /// the experts reached on average. Few tokens per expert leave little to overlap.
    #[inline]
    pub fn reference_s(&self, tokens: f64, reference: &Reference) -> f64 {
        let work = self.expected_work(tokens);
        let rates = &reference.rates;
        reference.t0_s + work.flops * rates.s_per_flop + work.bytes * rates.s_per_byte
    }

    /// Returns the shape that one rank computes: the intermediate size divided by `tp`, `tp` 1. Returns `None` if it
    /// is not divisible.
    pub fn local(&self) -> Option<MoeShape> {
        let intermediate = self.intermediate.checked_div(self.tp)?;
        let even = intermediate * self.tp == self.intermediate;
        even.then_some(MoeShape {
            intermediate,
            tp: 1,
            ..*self
        })
    }

    /// Returns the bytes of all experts' weights on one rank.
    pub fn weight_bytes(&self) -> f64 {
        3.0 * f64::from(self.hidden)
            * self.local_intermediate()
            * f64::from(self.experts)
            * self.dtype.weight_bytes()
    }

    /// Returns the intermediate size on one rank.
    #[inline]
    pub fn local_intermediate(&self) -> f64 {
        f64::from(self.intermediate) / f64::from(self.tp.max(1))
    }
}

codes!(MoeShape [dtype] [experts top_k hidden intermediate tp] [0 0]);

fn check(shape: &MoeShape) -> Result<(), Contradiction> {
    if shape.top_k > shape.experts {
        return Err(Contradiction::new(
            "top_k",
            Expected::new("at most the ", shape.experts, " experts"),
            "check that the two columns are not swapped",
        ));
    }
    if !shape.intermediate.is_multiple_of(shape.tp) {
        return Err(Contradiction::new(
            "tp",
            Expected::new(
                "a divisor of the intermediate size ",
                shape.intermediate,
                "",
            ),
            "the size is that of a whole expert, before tp divides it: check both",
        ));
    }
    Ok(())
}
