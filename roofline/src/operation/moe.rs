//! A fused mixture-of-experts layer: the projections of the chosen experts.

use super::{Column, ColumnKind, Contradiction, Expected, Operation, codes, debug};
use crate::math::{exp, ln};
use crate::{Dtype, Reference, Work};

/// Fused mixture-of-experts layer: `dtype, experts, top_k, hidden, intermediate, tp, ep, matrices` over tokens.
pub const MOE: Operation = Operation {
    name: "moe",
    file: "moe.csv",
    description: "fused mixture-of-experts layer",
    shape: &[
        Column::dtype("dtype", "Format of the math"),
        Column::count("experts", "Experts"),
        Column::count("top_k", "Experts that each token visits"),
        Column::count("hidden", "Hidden size"),
        Column::count("intermediate", "Intermediate size of one expert, before tp divides it"),
        Column::count("tp", "Tensor parallelism").usually(1),
        Column::new("ep", ColumnKind::CountOr(1), "Expert parallelism: ranks that share the experts"),
        Column::new("matrices", ColumnKind::CountOr(GATED), "Matrices of an expert: 3, or 2 without a gate"),
    ],
    axes: &["tokens"],
    optional: &["mfu"],
    check: |codes| check(&MoeShape::from(*codes)),
    dtype: |codes| MoeShape::from(*codes).dtype,
    work: |codes, [tokens, _]| MoeShape::from(*codes).work(f64::from(tokens)),
    reference_s: |codes, [tokens, _], reference| MoeShape::from(*codes).reference_s(f64::from(tokens), reference),
    debug: debug::<MoeShape>,
};

/// Matrices of a gated expert: gate, up and down. Others have no gate.
const GATED: u32 = 3;

/// ln(0.01), the lowest load of few tokens.
const LN_LOWEST: f64 = -4.605_170_185_988_092;

/// Sum of (rounded load - load) over log-uniform loads from 0.5 up, per unit of their logarithm: (1 - ln 2) / 2.
const ROUNDED_UP: f64 = 0.153_426_409_720_027_35;

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
    /// Tensor parallelism; divides the intermediate size.
    pub tp: u32,
    /// Expert parallelism; divides the experts. Tokens are counted over all these ranks; rows of tables describe the
    /// rank with most work.
    pub ep: u32,
    /// Matrices of an expert: 3 (gate, up and down), or 2 without a gate.
    pub matrices: u32,
}

impl MoeShape {
    /// Returns FLOPs (2 hidden intermediate/tp for each matrix of `top_k` experts per token, divided by `ep`) and bytes
    /// of the activations and of the weights of `experts_read` experts, on one rank.
    #[inline]
    pub fn work_reading(&self, tokens: f64, experts_read: f64) -> Work {
        let weights = self.expert_weights();
        let activations = tokens * f64::from(self.hidden) * (self.dtype.activation_bytes() + 2.0);
        Work {
            flops: 2.0 * self.on_rank(tokens * f64::from(self.top_k)) * weights,
            bytes: experts_read * weights * self.dtype.weight_bytes() + activations,
            link_bytes: 0.0,
        }
    }

    /// Returns the compulsory work: all tokens may choose the same `top_k` experts, spread over the ranks.
    #[inline]
    pub fn work(&self, tokens: f64) -> Work {
        self.work_reading(tokens, self.on_rank(f64::from(self.top_k)))
    }

    /// Returns the reference time of `tokens` tokens, seconds: the sum of launch time, matrix math, the reads of the
    /// experts that [skewed routing](Self::experts_reached) reaches, and the activations. Few tokens per expert leave
    /// little to overlap.
    #[inline]
    pub fn reference_s(&self, tokens: f64, reference: &Reference) -> f64 {
        let weights = self.expert_weights();
        // Each chosen expert has a copy of the token. Every result is written and read once, in 16 bits: gate and up,
        // their product; on all ranks, whichever has the expert, the input and the output.
        let copies = tokens * f64::from(self.top_k);
        let local_copies = self.on_rank(copies);
        let results = 2.0 * f64::from(self.matrices) * self.local_intermediate();
        let activations = 2.0 * (copies * 3.0 * f64::from(self.hidden) + local_copies * results);
        let reached = self.on_rank(self.experts_reached(tokens));
        let read = reached * weights * self.dtype.weight_bytes();
        let rates = &reference.rates;
        let math_s = 2.0 * local_copies * weights * rates.s_per_flop;
        let bytes = read * reference.read_share(read) + activations;
        reference.t0_s + math_s + bytes * rates.s_per_byte
    }

    /// Returns the experts that `tokens` tokens reach on all ranks in the measured tables. The routing of these tables
    /// is skewed.
    ///
    /// The loads of the experts are drawn from a power law with exponent 1.01, nearly log-uniform: on [1, 0.8 tokens]
    /// if there are more loads than experts, else on [0.01, 2]. They are scaled to a sum of tokens x `top_k` and
    /// rounded, and the rest goes to the least loaded experts. Between one and two loads per expert, the ends of the
    /// range change from one case to the other.
    ///
    /// Source: the collector of ai-dynamo/aiconfigurator; `bench_data/` holds its tables.
    ///
    /// ```
    /// use rooflut_roofline::{Dtype, MoeShape};
    /// let shape = MoeShape {
    ///     dtype: Dtype::Bf16, experts: 256, top_k: 8, hidden: 2048, intermediate: 512, tp: 1, ep: 1, matrices: 3,
    /// };
    /// assert_eq!(shape.experts_reached(1.0), 8.0);
    /// let reached = shape.experts_reached(64.0);
    /// assert!((190.0..200.0).contains(&reached), "{reached}"); // Uniform routing: 222.
    /// ```
    pub fn experts_reached(&self, tokens: f64) -> f64 {
        const LN_2: f64 = core::f64::consts::LN_2;
        let loads = tokens * f64::from(self.top_k);
        let experts = f64::from(self.experts);
        let mean = loads / experts;
        let many = (ln(mean) / LN_2).clamp(0.0, 1.0);
        let few = 1.0 - many;
        let lowest = few * LN_LOWEST;
        let highest = if many > 0.0 { few * LN_2 + many * ln(0.8 * tokens) } else { LN_2 };
        let range = highest - lowest;
        let scale = mean * range / (exp(highest) - exp(lowest));
        // All loads round to 0 or 1, and the rest makes up for the zeros.
        if scale * exp(highest) < 1.5 {
            return loads;
        }
        let rounded_to_0 = ((-LN_2 - ln(scale) - lowest) / range).max(0.0);
        let rest = (0.5 - ROUNDED_UP - scale * exp(lowest)).max(0.0) / range;
        let reached = experts * (1.0 - rounded_to_0 + rest).min(1.0);
        reached.min(loads)
    }

    /// Returns the shape that one rank computes: the intermediate size divided by `tp`, `tp` 1. Returns `None` if it
    /// is not divisible.
    pub fn local(&self) -> Option<MoeShape> {
        let intermediate = self.intermediate.checked_div(self.tp)?;
        let even = intermediate * self.tp == self.intermediate;
        even.then_some(MoeShape { intermediate, tp: 1, ..*self })
    }

    /// Returns the bytes of the weights of one rank's experts.
    pub fn weight_bytes(&self) -> f64 {
        self.expert_weights() * self.on_rank(f64::from(self.experts)) * self.dtype.weight_bytes()
    }

    /// Returns the weights of one expert on one rank.
    #[inline]
    fn expert_weights(&self) -> f64 {
        f64::from(self.matrices) * f64::from(self.hidden) * self.local_intermediate()
    }

    /// Returns the share of one rank in experts, or in copies of tokens.
    #[inline]
    fn on_rank(&self, all: f64) -> f64 {
        all / f64::from(self.ep.max(1))
    }

    /// Returns the intermediate size on one rank.
    #[inline]
    pub fn local_intermediate(&self) -> f64 {
        f64::from(self.intermediate) / f64::from(self.tp.max(1))
    }
}

codes!(MoeShape [dtype] [experts top_k hidden intermediate tp ep matrices]);

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
            Expected::new("a divisor of the intermediate size ", shape.intermediate, ""),
            "the size counts a whole expert, before tp divides it: check both",
        ));
    }
    if !shape.experts.is_multiple_of(shape.ep) {
        return Err(Contradiction::new(
            "ep",
            Expected::new("a divisor of the ", shape.experts, " experts"),
            "the experts are counted over all ranks: check both",
        ));
    }
    if !(2..=GATED).contains(&shape.matrices) {
        return Err(Contradiction::new(
            "matrices",
            Expected::new("2 or ", GATED, ""),
            "an expert has up and down matrices, and a gate or none",
        ));
    }
    Ok(())
}
