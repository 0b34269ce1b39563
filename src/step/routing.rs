//! The experts that the tokens of a step reach.

use crate::hardware::MoeShape;
use crate::math::{exp, ln};

/// Groups of experts. The last one holds all experts from the 2,049th on.
const GROUPS: usize = 13;

/// Routing by a power law: of the experts of a layer in order of their popularity, the r-th is chosen in proportion to
/// `r^-exponent`.
///
/// Neighbours in that order count with their mean, in groups of 1, 1, 2, 4, ... experts: steps stay cheap, and for
/// exponents of up to 0.9 the number of experts reached is within 1.5 % of the sum over single experts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Routing {
    /// Number of experts of each group, and ln of the probability that a token does not choose a given one of them.
    groups: [(f64, f64); GROUPS],
    count: usize,
    top_k: f64,
}

impl Routing {
    /// Creates the routing of a layer.
    pub(super) fn new(shape: &MoeShape, exponent: f64) -> Routing {
        let experts = shape.experts.max(1);
        let weight = |rank: u32| exp(-exponent * ln(f64::from(rank)));
        let total: f64 = (1..=experts).map(weight).sum();
        let mut groups = [(0.0, 0.0); GROUPS];
        let (mut count, mut first) = (0, 1_u32);
        for slot in &mut groups {
            if first > experts {
                break;
            }
            let last = match count + 1 {
                GROUPS => experts,
                _ => (2 * (first - 1)).clamp(first, experts),
            };
            let members = f64::from(last + 1 - first);
            let weights: f64 = (first..=last).map(weight).sum();
            let chosen = f64::from(shape.top_k) * weights / (members * total);
            *slot = (members, ln((1.0 - chosen).max(f64::MIN_POSITIVE)));
            (count, first) = (count + 1, last + 1);
        }
        Routing { groups, count, top_k: f64::from(shape.top_k) }
    }

    /// Returns the number of experts that `tokens` tokens reach on average.
    #[inline]
    pub(super) fn reached(&self, tokens: f64) -> f64 {
        let groups = self.groups.get(..self.count).unwrap_or_default();
        let reached = groups.iter().map(|(members, passed)| members * (1.0 - exp(tokens * passed)));
        reached.sum::<f64>().max(self.top_k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::Dtype;

    fn layer(experts: u32, top_k: u32) -> MoeShape {
        MoeShape { dtype: Dtype::Bf16, experts, top_k, hidden: 1024, intermediate: 1024, tp: 1, ep: 1, matrices: 3 }
    }

    /// The sum over single experts.
    fn reached_one_by_one(shape: &MoeShape, exponent: f64, tokens: f64) -> f64 {
        let weight = |rank: u32| f64::from(rank).powf(-exponent);
        let total: f64 = (1..=shape.experts).map(weight).sum();
        let passed = |rank| 1.0 - (f64::from(shape.top_k) * weight(rank) / total).min(1.0);
        let reached = (1..=shape.experts).map(|rank| 1.0 - passed(rank).powf(tokens));
        reached.sum::<f64>().max(shape.top_k.into())
    }

    #[test]
    fn groups_count_experts_as_one_by_one() {
        for (experts, top_k) in [(8, 2), (16, 1), (128, 8), (512, 10), (60, 4), (1, 1), (2, 2)] {
            let shape = layer(experts, top_k);
            for exponent in [0.0, 0.5, 0.9] {
                let routing = Routing::new(&shape, exponent);
                for tokens in [1.0, 2.0, 5.0, 17.0, 64.0, 300.0, 5000.0] {
                    let one_by_one = reached_one_by_one(&shape, exponent, tokens);
                    let error = routing.reached(tokens) / one_by_one - 1.0;
                    assert!(error.abs() < 0.015, "{shape:?} {exponent} {tokens}: {error}");
                }
            }
        }
    }

    #[test]
    fn uniform_routing_reaches_all_experts_alike() {
        let routing = Routing::new(&layer(64, 6), 0.0);
        for tokens in [1.0, 10.0, 100.0] {
            let expected = 64.0 * (1.0 - (1.0 - 6.0 / 64.0_f64).powf(tokens));
            assert!((routing.reached(tokens) / expected - 1.0).abs() < 1e-9);
        }
    }
}
