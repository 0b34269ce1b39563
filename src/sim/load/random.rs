//! Random numbers: one seed, one stream per purpose, the same bytes on every platform.
//!
//! `rand_distr` is not used: its logarithms come from `num-traits`, which uses the platform's as soon as any crate
//! of the build enables its feature `std`. The distributions here use [`crate::math`].

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::math;

/// The purpose of a stream. Each has its own, so that drawing more numbers for one does not change another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// Gaps between arrivals.
    Arrivals = 0,
    /// Tokens that a user adds to a prompt.
    Prompts = 1,
    /// Tokens of outputs.
    Outputs = 2,
    /// Choice of shared prefixes.
    Content = 3,
    /// Priorities.
    Priority = 4,
    /// Turns of a session.
    Turns = 5,
    /// Pauses of users.
    Think = 6,
    /// Lengths drawn outside of a load.
    Lengths = 7,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(State);

#[derive(Debug, Clone)]
enum State {
    /// Nothing is drawn yet. Many forks are never drawn from, and a generator costs ten numbers.
    Seed(u64),
    Drawing(Xoshiro256PlusPlus),
}

impl Random {
    /// Creates the stream of `purpose` for `seed`.
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Random {
        let mut bits = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..purpose as u32 {
            bits.long_jump(); // 2^192 numbers ahead: streams do not overlap
        }
        Random(State::Drawing(bits))
    }

    /// Draws 64 bits.
    #[inline]
    fn bits(&mut self) -> u64 {
        match &mut self.0 {
            State::Drawing(bits) => bits.next_u64(),
            State::Seed(seed) => {
                let mut bits = Xoshiro256PlusPlus::seed_from_u64(*seed);
                let first = bits.next_u64();
                self.0 = State::Drawing(bits);
                first
            }
        }
    }

    /// Returns an independent stream for a part of this one's purpose, such as one session. This one advances by one
    /// number, regardless of how many are drawn from the new one.
    pub(crate) fn fork(&mut self) -> Random {
        Random(State::Seed(self.bits()))
    }

    /// Draws a whole number below `count`, uniformly except for a bias of `count` / 2^64; returns 0 for a count of 0.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(count)) >> u64::BITS) as u64
    }

    /// Draws a number uniformly from [0, 1).
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * SCALE
    }

    /// Draws from the exponential distribution with mean 1, by inversion.
    pub(crate) fn exponential(&mut self) -> f64 {
        -math::ln(unit(self.bits()))
    }

    /// Draws from the standard normal distribution, by Marsaglia's polar method.
    ///
    /// The method's second number is dropped, so that a stream has no other state than its generator.
    pub(crate) fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.fraction() - 1.0;
            let y = 2.0 * self.fraction() - 1.0;
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * math::sqrt(-2.0 * math::ln(square) / square);
            }
        }
    }

    /// Draws from the gamma distribution with mean and variance `shape`, which must be positive.
    ///
    /// Marsaglia and Tsang, A simple method for generating gamma variables, ACM TOMS 26 (2000).
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // U^(1/shape), from the logarithm of U.
            let power = math::exp(-self.exponential() / shape);
            return self.gamma(shape + 1.0) * power;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / math::sqrt(9.0 * d);
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            let v = root * root * root;
            let u = unit(self.bits());
            if v > 0.0 && gamma_accepts(GammaCandidate { x, u, d, v }) {
                return d * v;
            }
        }
    }
}

/// A candidate of the method of Marsaglia and Tsang, in their notation.
struct GammaCandidate {
    x: f64,
    u: f64,
    d: f64,
    v: f64,
}

/// Returns whether a candidate is accepted. The first bound avoids the logarithms, and ends the search for a large d,
/// for which they lose all digits.
fn gamma_accepts(GammaCandidate { x, u, d, v }: GammaCandidate) -> bool {
    let x2 = x * x;
    u < 1.0 - 0.0331 * x2 * x2 || math::ln(u) < 0.5 * x2 + d * (1.0 - v + math::ln(v))
}

/// 2^-53.
const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;

/// Converts the upper 53 bits to a multiple of 2^-53 in (0, 1]. It is never 0, so that its logarithm is finite.
fn unit(bits: u64) -> f64 {
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

    /// Returns mean and variance of `n` numbers.
    fn moments(n: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = draw();
            assert!(x.is_finite());
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        (mean, squares / f64::from(n) - mean * mean)
    }

    #[test]
    fn the_exponential_has_mean_one_and_variance_one() {
        let mut random = Random::new(7, Purpose::Arrivals);
        let (mean, variance) = moments(200_000, || random.exponential());
        // Standard errors are 0.0022 and 0.0063: five of each.
        assert!((mean - 1.0).abs() < 0.011, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.032, "variance {variance}");
    }

    #[test]
    fn the_normal_has_its_mean_variance_and_tails() {
        let mut random = Random::new(7, Purpose::Prompts);
        let (mean, variance) = moments(200_000, || random.normal());
        // Standard errors are 0.0022 and 0.0032: five of each.
        assert!(mean.abs() < 0.011, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.016, "variance {variance}");
        let mut share = |limit: f64| moments(200_000, || f64::from(random.normal() > limit)).0;
        // P(z > 1.2816) = 0.1 and P(z > 2.3263) = 0.01; standard errors are 0.00067 and 0.00022.
        assert!((share(1.281_551_6) - 0.1).abs() < 0.0034);
        assert!((share(2.326_347_9) - 0.01).abs() < 0.0011);
    }

    #[test]
    fn the_gamma_has_its_shape_as_mean_and_variance() {
        for (seed, shape) in [(1, 0.1), (2, 0.5), (3, 1.0), (4, 2.5), (5, 100.0)] {
            let mut random = Random::new(seed, Purpose::Arrivals);
            let n = 200_000;
            let (mean, variance) = moments(n, || random.gamma(shape));
            let root_n = f64::from(n).sqrt();
            let mean_error = shape.sqrt() / root_n;
            // The excess kurtosis of a gamma distribution is 6 / shape.
            let variance_error = shape * (2.0 + 6.0 / shape).sqrt() / root_n;
            assert!((mean - shape).abs() < 5.0 * mean_error, "{shape}: {mean}");
            assert!((variance - shape).abs() < 5.0 * variance_error, "{shape}: {variance}");
        }
    }

    #[test]
    fn the_gamma_terminates_for_every_shape() {
        for shape in [5e-324, 1e-300, 1e-3, 1e12, 1e20, 1e300, f64::MAX] {
            let mut random = Random::new(9, Purpose::Arrivals);
            for _ in 0..1_000 {
                let x = random.gamma(shape);
                assert!(x >= 0.0 && x.is_finite(), "{shape}: {x}");
            }
        }
    }

    #[test]
    fn below_reaches_all_numbers_below() {
        let mut random = Random::new(3, Purpose::Content);
        let mut seen = [0_u32; 5];
        for _ in 0..50_000 {
            seen[random.below(5) as usize] += 1;
        }
        // Five standard errors of 10,000 are 447.
        assert!(seen.iter().all(|count| count.abs_diff(10_000) < 447));
        assert_eq!((random.below(1), random.below(0)), (0, 0));
    }

    #[test]
    fn a_fork_takes_one_number_regardless_of_what_is_drawn_from_it() {
        let mut once = Random::new(1, Purpose::Prompts);
        let mut often = once.clone();
        let first = once.fork().fraction();
        let mut fork = often.fork();
        for _ in 0..100 {
            fork.normal();
        }
        assert_eq!(once.fraction().to_bits(), often.fraction().to_bits());
        assert_ne!(first.to_bits(), once.fork().fraction().to_bits());
    }
}
