//! A fused mixture-of-experts layer: gate, up and down projections of the chosen experts.

use crate::{Dtype, Work};

/// The static part of a fused MoE layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoeShape {
    /// Format of the experts' weights.
    pub dtype: Dtype,
    /// Experts of the layer.
    pub experts: u32,
    /// Experts that each token visits.
    pub top_k: u32,
    /// Hidden size of the model.
    pub hidden: u32,
    /// Intermediate size of one expert, before tensor parallelism.
    pub intermediate: u32,
    /// Tensor parallelism: the intermediate size is divided by it.
    pub tp: u32,
}

impl MoeShape {
    /// FLOPs (3 projections, 2 hidden intermediate/tp each, `top_k` experts per token) and bytes of
    /// activations and of `experts_read` experts' weights, on one rank.
    fn work_reading(&self, tokens: f64, experts_read: f64) -> Work {
        let weights = 3.0 * f64::from(self.hidden) * self.local_intermediate();
        let activations =
            tokens * f64::from(self.hidden) * (self.dtype.activation_bytes() + 2.0);
        Work {
            flops: 2.0 * tokens * f64::from(self.top_k) * weights,
            bytes: experts_read * weights * self.dtype.weight_bytes() + activations,
            link_bytes: 0.0,
        }
    }

    /// Work that cannot be avoided: all tokens may choose the same `top_k` experts.
    pub fn work(&self, tokens: f64) -> Work {
        self.work_reading(tokens, f64::from(self.top_k))
    }

    /// Work if routing is uniform: the weights of the experts that `tokens` tokens reach on average,
    /// `experts_read` of them. An estimate, not a bound.
    pub fn expected_work(&self, tokens: f64, experts_read: f64) -> Work {
        self.work_reading(tokens, experts_read)
    }

    /// Bytes of all experts' weights on one rank.
    pub fn weight_bytes(&self) -> f64 {
        3.0 * f64::from(self.hidden)
            * self.local_intermediate()
            * f64::from(self.experts)
            * self.dtype.weight_bytes()
    }

    /// Intermediate size on one rank.
    pub fn local_intermediate(&self) -> f64 {
        f64::from(self.intermediate) / f64::from(self.tp.max(1))
    }

    /// The shape as one integer, for perfect hashing; `None` where a number exceeds its bits (16 for
    /// experts and top_k, 8 for tp): no table holds such a shape, the code generator refuses it.
    pub fn packed(&self) -> Option<u128> {
        let fits = self.experts >> 16 == 0 && self.top_k >> 16 == 0 && self.tp >> 8 == 0;
        fits.then_some(
            u128::from(self.experts) << 112
                | u128::from(self.top_k) << 96
                | u128::from(self.hidden) << 64
                | u128::from(self.intermediate) << 32
                | u128::from(self.tp) << 8
                | u128::from(self.dtype.code()),
        )
    }
}
