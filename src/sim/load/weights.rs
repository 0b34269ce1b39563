//! Weighted choice.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::error::Invalid;
use crate::sim::load::parameter::{not_negative, positive};
use crate::sim::load::random::Random;

/// Weights of a list of alternatives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    /// Cumulative sums of the weights.
    sums: Box<[f64]>,
    total: f64,
}

impl Weights {
    /// Creates weights, which need not add up to 1; `of` names them in errors.
    pub(crate) fn try_new(of: &'static str, weights: impl IntoIterator<Item = f64>) -> Result<Weights, Invalid> {
        let mut total = 0.0;
        let mut sums = Vec::new();
        for weight in weights {
            total += not_negative(of, weight)?;
            sums.push(total);
        }
        if sums.is_empty() {
            return Err(Invalid::new(of, "expected at least one, found none", &[]));
        }
        Ok(Weights { total: positive(of, total)?, sums: sums.into() })
    }

    /// Draws an index, by binary search.
    pub(crate) fn pick(&self, random: &mut Random) -> usize {
        let point = random.fraction() * self.total;
        let index = self.sums.partition_point(|sum| *sum <= point);
        index.min(self.sums.len() - 1) // Subnormal sums round up to the total.
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::sim::load::random::Purpose;

    #[test]
    fn alternatives_are_drawn_in_proportion_to_their_weights() {
        let weights = Weights::try_new("shares", [0.0, 3.0, 0.0, 1.0, 0.0]).unwrap();
        let mut random = Random::new(1, Purpose::Priority);
        let mut seen = [0_u32; 5];
        for _ in 0..40_000 {
            seen[weights.pick(&mut random)] += 1;
        }
        assert_eq!([seen[0], seen[2], seen[4]], [0, 0, 0]);
        // Five standard errors are 433.
        assert!(seen[1].abs_diff(30_000) < 433, "{seen:?}");
    }

    #[test]
    fn the_smallest_weights_are_drawn_too() {
        let tiny = f64::from_bits(1);
        let weights = Weights::try_new("shares", [tiny, tiny]).unwrap();
        let mut random = Random::new(1, Purpose::Priority);
        assert!((0..1_000).all(|_| weights.pick(&mut random) < 2));
    }

    #[test]
    fn negative_infinite_and_zero_weights_are_refused() {
        let of = |weights: &[f64]| Weights::try_new("shares", weights.iter().copied());
        assert_eq!(of(&[]).unwrap_err().to_string(), "shares: expected at least one, found none");
        for weights in [[0.0, 0.0], [1.0, -1.0], [f64::NAN, 1.0], [f64::MAX, f64::MAX]] {
            let refusal = of(&weights).unwrap_err().to_string();
            assert!(refusal.contains("finite number"), "{weights:?}: {refusal}");
        }
    }
}
