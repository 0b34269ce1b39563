//! Series of figures of consecutive requests, and what their means tell.
//!
//! - Warm-up: MSER-5, the truncation that minimises the standard error of the mean of what is left, over means of five
//!   values. K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69
//!   (1997); K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation heuristics for
//!   simulation", Winter Simulation Conference 2000. As there, a series whose truncation lies in its second half is too
//!   short to tell.
//! - Precision: means of 20 batches, with Student's t. B. Schmeiser, "Batch size effects in the analysis of simulation
//!   output", Operations Research 30 (1982). Batches that are correlated with their neighbours widen the interval by
//!   the factor of a first-order autoregressive process, as in N. M. Steiger et al., "ASAP3", ACM TOMACS 15 (2005).

/// Values of a block at first.
const FIRST_WIDTH: u32 = 5;
/// Maximum number of blocks, beyond which pairs are merged.
const BLOCKS: usize = 1_024;
/// Batches of an estimate.
const BATCHES: usize = 20;
/// Quantiles of Student's t with 19 degrees of freedom.
const T_975: f64 = 2.093;
const T_99: f64 = 2.539;

/// Means of blocks of consecutive values.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    blocks: Vec<f64>,
    width: u32,
    /// The block that is not full yet.
    sum: f64,
    count: u32,
}

/// A mean and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    /// Standard error of the mean.
    error: f64,
}

impl Estimate {
    /// Half the width of the 95 % interval, over the mean.
    pub(crate) fn relative(&self) -> f64 {
        if self.error > 0.0 { T_975 * self.error / self.mean.abs() } else { 0.0 }
    }

    /// Whether the number of requests in the servers is known to 5 %, or to a quarter of a request.
    pub(crate) fn is_stationary(&self) -> bool {
        T_975 * self.error <= f64::max(0.05 * self.mean, 0.25)
    }

    /// Returns whether the mean of a longer run is at most `bound`, with 99 % confidence either way; `None` if that is not
    /// clear.
    pub(crate) fn is_at_most(&self, bound: f64) -> Option<bool> {
        let half = T_99 * self.error;
        match (self.mean + half <= bound, self.mean - half > bound) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

impl Series {
    pub(crate) fn new() -> Series {
        Series { blocks: Vec::new(), width: FIRST_WIDTH, sum: 0.0, count: 0 }
    }

    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        if self.count < self.width {
            return;
        }
        self.blocks.push(self.sum / f64::from(self.width));
        (self.sum, self.count) = (0.0, 0);
        if self.blocks.len() >= BLOCKS {
            let merged = self.blocks.chunks_exact(2).map(mean);
            self.blocks = merged.collect();
            self.width = self.width.saturating_mul(2);
        }
    }

    /// Whether a warm-up, if the series has one, lies in its first half.
    pub(crate) fn has_settled(&self) -> bool {
        truncation(&self.blocks).is_some_and(|first| 2 * first <= self.blocks.len())
    }

    /// Estimates the mean; `None` for too few values.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        estimate(&self.blocks)
    }

    /// Whether the mean of the second half of the series is above `bound` by more than so many standard errors.
    pub(crate) fn exceeds(&self, bound: f64, errors: f64) -> bool {
        let estimate = self.second_half().and_then(estimate);
        estimate.is_some_and(|estimate| estimate.mean - errors * estimate.error > bound)
    }

    fn second_half(&self) -> Option<&[f64]> {
        self.blocks.get(self.blocks.len() / 2..)
    }

    /// Whether a number of requests in the servers, one value a completion, grows over the second half of the series by
    /// more than chance explains: by more than `drift` times the square root of the completions (a queue whose arrivals
    /// and services are Poisson and as fast as each other drifts with a standard deviation of at most `sqrt(2 n)`), and
    /// by more than its steps from batch to batch explain by Student's t.
    pub(crate) fn grows(&self, drift: f64) -> bool {
        let Some(batches) = self.second_half().and_then(batches) else {
            return false;
        };
        let values = (self.blocks.len() / 2) as f64 * f64::from(self.width);
        let steps: Vec<f64> = batches.iter().zip(batches.iter().skip(1)).map(|(a, b)| b - a).collect();
        let growth: f64 = steps.iter().sum();
        let step = mean(&steps);
        let squares: f64 = steps.iter().map(|value| (value - step).powi(2)).sum();
        let deviation = (squares / (steps.len() - 1) as f64 * steps.len() as f64).sqrt();
        growth > drift * values.sqrt() && growth > T_99 * deviation
    }
}

fn estimate(blocks: &[f64]) -> Option<Estimate> {
    let batches = batches(blocks)?;
    let mean = mean(&batches);
    let squares = batches.iter().map(|value| (value - mean).powi(2));
    let sum: f64 = squares.sum();
    let pairs = batches.iter().zip(batches.iter().skip(1));
    let products: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
    let variance = sum / (BATCHES - 1) as f64 / BATCHES as f64;
    // Not above 0.8, where 20 batches say little.
    let correlation = (products / sum).clamp(0.0, 0.8);
    let factor = (1.0 + correlation) / (1.0 - correlation);
    Some(Estimate { mean, error: if sum > 0.0 { (variance * factor).sqrt() } else { 0.0 } })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the means of batches of as many blocks each; the first blocks are left out where these do not divide.
fn batches(blocks: &[f64]) -> Option<Vec<f64>> {
    let each = blocks.len() / BATCHES;
    let used = blocks.get(blocks.len() - each * BATCHES..)?;
    (each > 0).then(|| used.chunks_exact(each).map(mean).collect())
}

/// Returns how many blocks to leave out so that the standard error of the mean of the others is least; `None` for too
/// few.
fn truncation(blocks: &[f64]) -> Option<usize> {
    /// Blocks at the end that are always kept: so few may be alike by chance.
    const KEPT: usize = 5;
    let (mut sum, mut squares) = (0.0, 0.0);
    // Differences from the last value lose no digits where all values are large.
    let origin = *blocks.last()?;
    let errors = blocks.iter().enumerate().rev().map(|(first, value)| {
        let value = value - origin;
        sum += value;
        squares += value * value;
        let count = (blocks.len() - first) as f64;
        let deviation = (squares - sum * sum / count).max(0.0);
        (first, deviation / (count * count))
    });
    let judged = errors.skip(KEPT);
    // The earliest of equal truncations.
    let least = judged.min_by(|(a, one), (b, other)| one.total_cmp(other).then(a.cmp(b)));
    least.map(|(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: impl IntoIterator<Item = f64>) -> Series {
        let mut series = Series::new();
        values.into_iter().for_each(|value| series.add(value));
        series
    }

    /// Numbers that look random, from 0 to 1.
    fn noise(count: u32) -> impl Iterator<Item = f64> {
        let mut state = 0x9E37_79B9_u32;
        (0..count).map(move |_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            f64::from(state) / f64::from(u32::MAX)
        })
    }

    #[test]
    fn the_truncation_is_where_a_transient_ends() {
        // 60 of 400 values fall from 10 to 1.
        let transient = |i: usize| 9.0 * (1.0 - i as f64 / 60.0).max(0.0);
        let values = noise(400).enumerate();
        let falling = series(values.map(|(i, noise)| noise + transient(i)));
        let first = truncation(&falling.blocks).unwrap();
        assert!((10..=14).contains(&first), "{first}");
        assert!(falling.has_settled());
        let begun = series(noise(80).enumerate().map(|(i, noise)| noise + transient(i)));
        assert!(!begun.has_settled());
    }

    #[test]
    fn a_trend_never_settles_and_a_constant_has_settled_at_once() {
        let rising = series((0..5_000).map(f64::from));
        assert!(!rising.has_settled());
        let equal = series((0..60).map(|_| 0.1));
        assert_eq!(truncation(&equal.blocks), Some(0));
        assert!(!series([]).has_settled());
    }

    #[test]
    fn the_interval_of_a_mean_holds_the_mean_of_independent_and_of_correlated_values() {
        for hold in [1_usize, 200] {
            let values: Vec<f64> = noise(200_000 / hold as u32).collect();
            let mut missed = 0;
            for run in values.chunks(2_000 / hold) {
                let held = run.iter().flat_map(|value| (0..hold).map(move |_| *value));
                let estimate = series(held).estimate().unwrap();
                if (estimate.mean - 0.5).abs() > T_975 * estimate.error {
                    missed += 1;
                }
            }
            // 5 of 100 intervals are expected to miss.
            assert!((1..=12).contains(&missed), "{hold}: {missed}");
        }
    }

    #[test]
    fn a_bound_is_judged_as_far_as_the_mean_is_known() {
        let estimate = series(noise(20_000)).estimate().unwrap();
        assert_eq!(estimate.is_at_most(0.52), Some(true));
        assert_eq!(estimate.is_at_most(0.48), Some(false));
        assert_eq!(estimate.is_at_most(estimate.mean), None);
        let none = series((0..2_000).map(|_| 0.0)).estimate().unwrap();
        assert_eq!(none.is_at_most(0.01), Some(true));
        assert!(none.relative() <= 0.0);
    }

    #[test]
    fn a_mean_exceeds_a_bound_by_more_than_it_is_known() {
        let values = series(noise(20_000));
        assert!(values.exceeds(0.48, 4.0));
        assert!(!values.exceeds(0.497, 4.0) && !values.exceeds(0.5, 4.0));
        // The first half does not count.
        let later = series((0..1_000).map(|i| if i < 400 { 9.0 } else { 1.0 }));
        assert!(!later.exceeds(1.001, 4.0) && later.exceeds(0.999, 4.0));
    }

    #[test]
    fn growth_is_told_from_drift() {
        // One in ten requests stays.
        let overloaded = |count: u32| series((0..count).map(|i| 0.1 * f64::from(i)));
        assert!(overloaded(10_000).grows(4.0));
        assert!(!overloaded(1_000).grows(4.0));
        // A random walk, as of a queue at the edge.
        let mut walks = 0;
        let all: Vec<f64> = noise(400_000).collect();
        for run in all.chunks(4_000) {
            let mut held = 0.0;
            let walk = run.iter().map(|value| {
                held += if *value < 0.5 { -1.0 } else { 1.0 };
                held
            });
            walks += u32::from(series(walk).grows(4.0));
        }
        assert!(walks <= 2, "{walks}");
    }
}
