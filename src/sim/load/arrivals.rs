//! Arrival processes.

use crate::error::Invalid;
use crate::sim::load::parameter::positive;
use crate::sim::load::random::{Purpose, Random};
use crate::units::Seconds;

/// An endless iterator of ascending arrival times in nanoseconds.
///
/// ```
/// use rooflut::sim::load::Arrivals;
/// let times: Vec<u64> = Arrivals::try_constant(4.0)?.take(3).collect();
/// assert_eq!(times, [0, 250_000_000, 500_000_000]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Arrivals {
    requests_per_s: f64,
    gaps: Gaps,
}

#[derive(Debug, Clone)]
enum Gaps {
    /// Number of arrivals so far.
    Equal(u64),
    /// Time passed so far, in mean gaps, and the generator.
    Exponential(f64, Random),
    /// Time passed so far, in mean gaps, the shape of the distribution and the generator.
    Gamma(f64, f64, Random),
}

impl Arrivals {
    /// Creates arrivals with equal gaps; the first arrival is at 0.
    ///
    /// # Errors
    ///
    /// A rate that is not positive and finite.
    pub fn try_constant(requests_per_s: f64) -> Result<Arrivals, Invalid> {
        Arrivals::try_new(requests_per_s, Gaps::Equal(0))
    }

    /// Creates a Poisson process. The first arrival is one exponential gap after 0.
    ///
    /// # Errors
    ///
    /// A rate that is not positive and finite.
    pub fn try_poisson(requests_per_s: f64, seed: u64) -> Result<Arrivals, Invalid> {
        let random = Random::new(seed, Purpose::Arrivals);
        Arrivals::try_new(requests_per_s, Gaps::Exponential(0.0, random))
    }

    /// Creates arrivals with gamma-distributed gaps.
    ///
    /// `burstiness` is the shape of the distribution, as in vLLM's `bench serve`: the standard deviation of
    /// the gaps is their mean times `1 / sqrt(burstiness)`. Below 1 arrivals come in bursts, above 1 they are
    /// more even; 1 gives the same times as [`Arrivals::try_poisson`].
    ///
    /// Does not model: vLLM rescales the gaps of a finite list so that the last arrival matches the mean rate.
    ///
    /// ```
    /// use rooflut::sim::load::Arrivals;
    /// let bursts = Arrivals::try_gamma(4.0, 0.25, 42)?;
    /// assert!(bursts.take(100).is_sorted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A rate or a burstiness that is not positive and finite.
    pub fn try_gamma(requests_per_s: f64, burstiness: f64, seed: u64) -> Result<Arrivals, Invalid> {
        let shape = positive("burstiness", burstiness)?;
        if shape.total_cmp(&1.0).is_eq() {
            return Arrivals::try_poisson(requests_per_s, seed);
        }
        let random = Random::new(seed, Purpose::Arrivals);
        Arrivals::try_new(requests_per_s, Gaps::Gamma(0.0, shape, random))
    }

    fn try_new(requests_per_s: f64, gaps: Gaps) -> Result<Arrivals, Invalid> {
        if requests_per_s > 0.0 && requests_per_s.is_finite() {
            Ok(Arrivals { requests_per_s, gaps })
        } else {
            Err(Invalid::new(
                "rate",
                "expected a positive, finite number of requests per second, found {}",
                &[requests_per_s.into()],
            ))
        }
    }
}

impl Iterator for Arrivals {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let mean_gaps = match &mut self.gaps {
            Gaps::Equal(arrivals) => {
                let index = *arrivals;
                *arrivals += 1;
                index as f64
            }
            Gaps::Exponential(passed, random) => {
                *passed += random.exponential();
                *passed
            }
            Gaps::Gamma(passed, shape, random) => {
                *passed += random.gamma(*shape) / *shape;
                *passed
            }
        };
        Some(Seconds(mean_gaps / self.requests_per_s).to_nanos())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn equal_gaps_do_not_drift() {
        let millionth = Arrivals::try_constant(3.0).unwrap().nth(3_000_000);
        assert_eq!(millionth, Some(1_000_000_000_000_000));
    }

    #[test]
    fn a_seed_fixes_the_series_and_another_seed_changes_it() {
        let series = |seed| -> Vec<u64> {
            let arrivals = Arrivals::try_poisson(10.0, seed).unwrap();
            arrivals.take(5).collect()
        };
        // Computed by an independent program: fails if generator, stream, logarithm or rounding changes.
        let golden = [20_542_011, 134_854_545, 136_478_239, 171_983_636, 195_113_245];
        assert_eq!(series(42), golden);
        assert_ne!(series(43), series(42));
    }

    #[test]
    fn a_burstiness_of_one_is_poisson_to_the_byte() {
        let gamma = Arrivals::try_gamma(10.0, 1.0, 42).unwrap();
        let poisson = Arrivals::try_poisson(10.0, 42).unwrap();
        assert!(gamma.take(1_000).eq(poisson.take(1_000)));
    }

    #[test]
    fn gamma_series_are_what_an_independent_program_draws() {
        let series = |burstiness| -> Vec<u64> {
            let arrivals = Arrivals::try_gamma(10.0, burstiness, 42).unwrap();
            arrivals.take(5).collect()
        };
        assert_eq!(series(0.5), [269_710_775, 275_201_943, 424_308_153, 470_990_965, 540_199_399]);
        assert_eq!(series(3.0), [153_725_644, 283_558_623, 329_614_496, 464_063_043, 564_460_655]);
    }

    #[test]
    fn rates_that_are_not_positive_and_finite_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Arrivals::try_constant(rate).is_err());
            assert!(Arrivals::try_poisson(rate, 0).is_err());
            assert!(Arrivals::try_gamma(rate, 0.5, 0).is_err());
            assert!(Arrivals::try_gamma(1.0, rate, 0).is_err());
        }
    }

    #[test]
    fn times_beyond_the_clock_saturate() {
        let mut times = Arrivals::try_constant(1e-300).unwrap();
        assert_eq!(times.next(), Some(0));
        assert_eq!(times.next(), Some(u64::MAX));
    }
}
