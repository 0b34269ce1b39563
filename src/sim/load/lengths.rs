//! Distributions of lengths.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use crate::error::Invalid;
use crate::math;
use crate::sim::load::parameter::{not_negative, positive};
use crate::sim::load::random::{Purpose, Random};
use crate::sim::load::weights::Weights;

/// A distribution of lengths of at least 1: tokens of prompts or outputs, or turns of a session.
///
/// A normal or lognormal length outside of its range is clamped to the range, as common load generators do.
/// The ends of the range then come more often than the density implies, and the mean may shift.
///
/// ```
/// use rooflut::sim::load::Lengths;
/// let chat = Lengths::try_lognormal(300.0, 1.2, 1..=8_192)?;
/// let lengths: Vec<u32> = chat.samples(42).take(1_000).collect();
/// let short = lengths.iter().filter(|tokens| **tokens <= 300).count();
/// assert!((450..550).contains(&short)); // 300 is the median
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Lengths(Shape);

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Fixed(u32),
    Uniform(Range),
    Normal { mean: f64, sd: f64, range: Range },
    LogNormal { median: f64, sigma: f64, range: Range },
    Empirical(Box<[u32]>),
    Weighted(Box<[u32]>, Weights),
}

impl Lengths {
    /// Creates a constant length.
    ///
    /// # Errors
    ///
    /// A length of 0.
    pub fn try_fixed(length: u32) -> Result<Lengths, Invalid> {
        Range::try_new(length..=length)?;
        Ok(Lengths(Shape::Fixed(length)))
    }

    /// Creates a uniform distribution over `range`.
    ///
    /// # Errors
    ///
    /// A range that is empty or begins with 0.
    pub fn try_uniform(range: RangeInclusive<u32>) -> Result<Lengths, Invalid> {
        Ok(Lengths(Shape::Uniform(Range::try_new(range)?)))
    }

    /// Creates a normal distribution with `mean` and standard deviation `sd`, rounded and clamped to `range`.
    ///
    /// # Errors
    ///
    /// A mean that is not positive, a standard deviation below 0, or either not finite; a range that is empty or begins
    /// with 0.
    pub fn try_normal(mean: f64, sd: f64, range: RangeInclusive<u32>) -> Result<Lengths, Invalid> {
        Ok(Lengths(Shape::Normal {
            mean: positive("mean", mean)?,
            sd: not_negative("standard deviation", sd)?,
            range: Range::try_new(range)?,
        }))
    }

    /// Creates a lognormal distribution: `median` times e to the power of `sigma` times a standard normal
    /// variable, rounded and clamped to `range`.
    ///
    /// # Errors
    ///
    /// A median that is not positive, a sigma below 0, or either not finite; a range that is empty or begins with 0.
    pub fn try_lognormal(median: f64, sigma: f64, range: RangeInclusive<u32>) -> Result<Lengths, Invalid> {
        Ok(Lengths(Shape::LogNormal {
            median: positive("median", median)?,
            sigma: not_negative("sigma", sigma)?,
            range: Range::try_new(range)?,
        }))
    }

    /// Creates a lognormal distribution with `mean` and coefficient of variation `cv` (standard deviation over
    /// mean), both before lengths are clamped to `range`.
    ///
    /// sigma^2 = ln(1 + cv^2), median = mean / sqrt(1 + cv^2).
    ///
    /// # Errors
    ///
    /// A mean that is not positive and finite; a coefficient of variation below 0 or above 1,000; a range that is empty or
    /// begins with 0.
    pub fn try_lognormal_of_mean(mean: f64, cv: f64, range: RangeInclusive<u32>) -> Result<Lengths, Invalid> {
        let mean = positive("mean", mean)?;
        if !(0.0..=1_000.0).contains(&cv) {
            let text = "expected a number from 0 to 1000, found {}";
            return Err(Invalid::new("coefficient of variation", text, &[cv.into()]));
        }
        let spread = 1.0 + cv * cv;
        Lengths::try_lognormal(mean / math::sqrt(spread), math::sqrt(math::ln(spread)), range)
    }

    /// Creates an empirical distribution: draws each of `lengths`, such as the lengths of a trace, equally often.
    ///
    /// # Errors
    ///
    /// An empty list, or a length of 0.
    pub fn try_empirical(lengths: impl IntoIterator<Item = u32>) -> Result<Lengths, Invalid> {
        let lengths: Box<[u32]> = lengths.into_iter().collect();
        check_values(&lengths)?;
        Ok(Lengths(Shape::Empirical(lengths)))
    }

    /// Creates a weighted distribution, such as a histogram: draws each length in proportion to its weight.
    ///
    /// ```
    /// use rooflut::sim::load::Lengths;
    /// let either = Lengths::try_weighted([(100, 3.0), (2_000, 1.0)])?;
    /// let long = either.samples(7).take(4_000).filter(|tokens| *tokens == 2_000).count();
    /// assert!((900..1_100).contains(&long));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An empty list, a length of 0, a negative weight, or a sum of weights that is not positive and finite.
    pub fn try_weighted(lengths: impl IntoIterator<Item = (u32, f64)>) -> Result<Lengths, Invalid> {
        let (lengths, weights): (Vec<u32>, Vec<f64>) = lengths.into_iter().unzip();
        check_values(&lengths)?;
        let weights = Weights::try_new("weights of lengths", weights)?;
        Ok(Lengths(Shape::Weighted(lengths.into(), weights)))
    }

    /// Returns an endless iterator of lengths drawn with `seed`. A load with the same seed draws other lengths.
    pub fn samples(&self, seed: u64) -> impl Iterator<Item = u32> + use<'_> {
        let mut random = Random::new(seed, Purpose::Lengths);
        core::iter::repeat_with(move || self.sample(&mut random))
    }

    /// Draws a length of at least 1.
    pub(crate) fn sample(&self, random: &mut Random) -> u32 {
        match &self.0 {
            Shape::Fixed(length) => *length,
            Shape::Uniform(range) => range.at(random.below(range.count())),
            Shape::Normal { mean, sd, range } => range.nearest(mean + sd * random.normal()),
            Shape::LogNormal { median, sigma, range } => range.nearest(median * math::exp(sigma * random.normal())),
            Shape::Empirical(lengths) => {
                let index = random.below(lengths.len() as u64);
                value_at(lengths, index as usize)
            }
            Shape::Weighted(lengths, weights) => value_at(lengths, weights.pick(random)),
        }
    }
}

/// Returns the length at `index`, which is always in the list: constructors refuse empty lists.
fn value_at(lengths: &[u32], index: usize) -> u32 {
    lengths.get(index).copied().unwrap_or(1)
}

fn check_values(lengths: &[u32]) -> Result<(), Invalid> {
    match lengths.iter().min() {
        None => Err(Invalid::new("lengths", "expected at least one, found none", &[])),
        Some(&min) => Range::try_new(min..=min).map(|_| ()),
    }
}

/// Lengths from `min`, at least 1, to `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    min: u32,
    max: u32,
}

impl Range {
    fn try_new(range: RangeInclusive<u32>) -> Result<Range, Invalid> {
        let (min, max) = range.into_inner();
        if min == 0 || min > max {
            let text = "expected a non-empty range of at least 1, found {} to {}";
            return Err(Invalid::new("lengths", text, &[min.into(), max.into()]));
        }
        Ok(Range { min, max })
    }

    fn count(self) -> u64 {
        u64::from(self.max - self.min) + 1
    }

    /// Returns the length at `index`, which must be below the count.
    fn at(self, index: u64) -> u32 {
        self.min + index as u32
    }

    /// Rounds `length`, halves up, and clamps it to the range.
    fn nearest(self, length: f64) -> u32 {
        // The cast truncates and saturates.
        ((length + 0.5) as u32).clamp(self.min, self.max)
    }
}
