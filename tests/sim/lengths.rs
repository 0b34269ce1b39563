//! Distributions of lengths: their moments and quantiles, their ranges, and what they refuse.

use std::ops::RangeInclusive;

use proptest::prelude::*;
use rooflut::Invalid;
use rooflut::sim::load::Lengths;

const COUNT: usize = 100_000;
const ANY: RangeInclusive<u32> = 1..=u32::MAX;

fn sorted(lengths: &Lengths, seed: u64) -> Vec<u32> {
    let mut drawn: Vec<u32> = lengths.samples(seed).take(COUNT).collect();
    drawn.sort_unstable();
    drawn
}

/// Mean and standard deviation.
fn moments(drawn: &[u32]) -> (f64, f64) {
    let n = drawn.len() as f64;
    let mean = drawn.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
    let squares = drawn.iter().map(|x| (f64::from(*x) - mean).powi(2));
    (mean, (squares.sum::<f64>() / n).sqrt())
}

/// The share of lengths up to `length`.
fn share_up_to(drawn: &[u32], length: u32) -> f64 {
    drawn.partition_point(|x| *x <= length) as f64 / drawn.len() as f64
}

/// Five standard errors of a mean of [`COUNT`] numbers with standard deviation `sd`.
fn five_errors(sd: f64) -> f64 {
    5.0 * sd / (COUNT as f64).sqrt()
}

#[track_caller]
fn assert_share(drawn: &[u32], length: u32, expected: f64) {
    let found = share_up_to(drawn, length);
    let tolerance = five_errors((expected * (1.0 - expected)).sqrt());
    assert!((found - expected).abs() < tolerance, "{length}: {found}");
}

#[test]
fn fixed_lengths_are_fixed() {
    let fixed = Lengths::try_fixed(512).unwrap();
    assert!(fixed.samples(1).take(100).all(|length| length == 512));
}

#[test]
fn uniform_lengths_are_uniform_and_reach_both_ends() {
    let drawn = sorted(&Lengths::try_uniform(101..=300).unwrap(), 1);
    assert_eq!((drawn[0], drawn[COUNT - 1]), (101, 300));
    // (n^2 - 1) / 12 for n equal steps.
    let sd = (39_999.0_f64 / 12.0).sqrt();
    let (mean, found_sd) = moments(&drawn);
    assert!((mean - 200.5).abs() < five_errors(sd), "{mean}");
    assert!((found_sd / sd - 1.0).abs() < 0.01, "{found_sd}");
    assert_share(&drawn, 150, 0.25);
    assert_share(&drawn, 200, 0.5);
}

#[test]
fn normal_lengths_have_their_mean_deviation_and_quantiles() {
    let drawn = sorted(&Lengths::try_normal(1_000.0, 100.0, ANY).unwrap(), 2);
    let (mean, sd) = moments(&drawn);
    assert!((mean - 1_000.0).abs() < five_errors(100.0), "{mean}");
    // The standard error of a normal's deviation is sd / sqrt(2 n).
    assert!((sd - 100.0).abs() < five_errors(100.0 / 2.0_f64.sqrt()), "{sd}");
    // Phi of the upper edge of each: (length + 0.5 - 1000) / 100.
    assert_share(&drawn, 899, 0.157_44);
    assert_share(&drawn, 1_000, 0.501_99);
    assert_share(&drawn, 1_199, 0.976_97);
}

#[test]
fn lognormal_lengths_have_their_median_and_quantiles() {
    let drawn = sorted(&Lengths::try_lognormal(10_000.0, 1.0, ANY).unwrap(), 3);
    // The median times e^z, z = -1.281552, 0, 1.281552, 2.326348.
    assert_share(&drawn, 2_776, 0.1);
    assert_share(&drawn, 10_000, 0.5);
    assert_share(&drawn, 36_022, 0.9);
    assert_share(&drawn, 102_405, 0.99);
}

#[test]
fn lognormal_lengths_of_a_mean_have_it_and_their_variation() {
    let lengths = Lengths::try_lognormal_of_mean(10_000.0, 0.8, ANY).unwrap();
    let drawn = sorted(&lengths, 4);
    let (mean, sd) = moments(&drawn);
    assert!((mean - 10_000.0).abs() < five_errors(8_000.0), "{mean}");
    // Heavy tails: the fourth moment makes the standard error of the deviation 1.1 %.
    assert!((sd / mean - 0.8).abs() < 0.05, "{}", sd / mean);
    assert_share(&drawn, 7_809, 0.5); // 10,000 / sqrt(1.64)
}

#[test]
fn lengths_beyond_the_range_come_as_its_ends() {
    let drawn = sorted(&Lengths::try_normal(100.0, 50.0, 50..=200).unwrap(), 5);
    assert_eq!((drawn[0], drawn[COUNT - 1]), (50, 200));
    // Phi(-0.99) and 1 - Phi(1.99).
    assert_share(&drawn, 50, 0.161_09);
    assert_share(&drawn, 199, 1.0 - 0.023_30);
}

#[test]
fn empirical_lengths_come_as_often_as_they_are_listed() {
    let drawn = sorted(&Lengths::try_empirical([10, 500, 10, 90]).unwrap(), 6);
    assert_share(&drawn, 10, 0.5);
    assert_share(&drawn, 90, 0.75);
    assert!(drawn.iter().all(|length| [10, 90, 500].contains(length)));
}

#[test]
fn weighted_lengths_come_as_often_as_their_weights_say() {
    let weighted = Lengths::try_weighted([(500, 0.2), (10, 0.6), (90, 0.0), (70, 1.2)]);
    let drawn = sorted(&weighted.unwrap(), 7);
    assert_share(&drawn, 10, 0.3);
    assert_share(&drawn, 70, 0.9);
    assert!(!drawn.contains(&90));
}

#[test]
fn what_means_nothing_is_refused_by_name() {
    let parameter = |result: Result<Lengths, Invalid>| result.unwrap_err().setting();
    let message = |result: Result<Lengths, Invalid>| result.unwrap_err().to_string();
    for odd in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(parameter(Lengths::try_normal(odd, 1.0, 1..=9)), "mean");
        let sd = parameter(Lengths::try_normal(1.0, odd, 1..=9));
        assert_eq!(sd, "standard deviation");
        assert_eq!(parameter(Lengths::try_lognormal(odd, 1.0, 1..=9)), "median");
        assert_eq!(parameter(Lengths::try_lognormal(1.0, odd, 1..=9)), "sigma");
        let cv = parameter(Lengths::try_lognormal_of_mean(1.0, odd, 1..=9));
        assert_eq!(cv, "coefficient of variation");
        let weights = parameter(Lengths::try_weighted([(1, odd)]));
        assert_eq!(weights, "weights of lengths");
    }
    let zero = "lengths: expected a non-empty range of at least 1, found 0 to 0";
    assert_eq!(message(Lengths::try_fixed(0)), zero);
    assert_eq!(message(Lengths::try_empirical([3, 0])), zero);
    let empty = "lengths: expected a non-empty range of at least 1, found 5 to 3";
    assert_eq!(message(Lengths::try_uniform(RangeInclusive::new(5, 3))), empty);
    let none = "lengths: expected at least one, found none";
    assert_eq!(message(Lengths::try_empirical([])), none);
    assert_eq!(message(Lengths::try_weighted([])), none);
}

proptest! {
    #[test]
    fn every_length_lies_in_its_range(
        middle in prop_oneof![Just(f64::MIN_POSITIVE), 0.1..1e7_f64, Just(f64::MAX)],
        spread in prop_oneof![Just(0.0), 0.0..10.0_f64, 0.0..1e9_f64, Just(f64::MAX)],
        ends in (1..=u32::MAX, 1..=u32::MAX),
        seed: u64,
    ) {
        let range = ends.0.min(ends.1)..=ends.0.max(ends.1);
        let all = [
            Lengths::try_uniform(range.clone()),
            Lengths::try_normal(middle, spread, range.clone()),
            Lengths::try_lognormal(middle, spread, range.clone()),
            Lengths::try_lognormal_of_mean(middle, spread.min(1e3), range.clone()),
        ];
        for lengths in all {
            for length in lengths.unwrap().samples(seed).take(200) {
                prop_assert!(range.contains(&length));
            }
        }
    }
}
