//! Random numbers: one seed, one stream per purpose, the same bytes on every platform.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::math;

/// What a stream is drawn for. Each has its own, so that drawing more for one changes no other.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    /// Gaps between arrivals.
    Arrivals = 0,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(super) struct Random {
    bits: Xoshiro256PlusPlus,
}

impl Random {
    /// The stream of `purpose` under `seed`.
    pub(super) fn new(seed: u64, purpose: Purpose) -> Random {
        let mut bits = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..purpose as u32 {
            bits.long_jump(); // 2^192 numbers ahead: streams do not meet
        }
        Random { bits }
    }

    /// Exponentially distributed, with mean 1, by inversion.
    pub(super) fn exponential(&mut self) -> f64 {
        -math::ln(unit(self.bits.next_u64()))
    }
}

/// The upper 53 bits as a multiple of 2^-53 in (0, 1]: never 0, so that its logarithm is finite.
fn unit(bits: u64) -> f64 {
    const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
    ((bits >> 11) + 1) as f64 * SCALE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_interval_leaves_out_zero_and_takes_in_one() {
        assert_eq!(unit(0).to_bits(), (0.5_f64.powi(53)).to_bits());
        assert_eq!(unit(u64::MAX).to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn the_exponential_has_mean_one_and_variance_one() {
        let mut random = Random::new(7, Purpose::Arrivals);
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = random.exponential();
            assert!(x >= 0.0 && x.is_finite());
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        // Standard errors are 0.0022 and 0.0063: five of each.
        assert!((mean - 1.0).abs() < 0.011, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.032, "variance {variance}");
    }
}
