//! Intervals around predictions.

use core::fmt;
use core::str::FromStr;

use crate::math::{exp, ln, sqrt};
use crate::units::Seconds;
use rooflut_roofline::{Invalid, MessagePart};

/// The share of measurements that an interval is meant to contain, between 0 and 1.
///
/// ```
/// use rooflut::interval::Coverage;
/// let coverage = Coverage::try_new(0.8)?;
/// assert_eq!(coverage, "0.8".parse()?);
/// let error = Coverage::try_new(80.0).unwrap_err();
/// assert_eq!(error.to_string(), "coverage: expected a share between 0 and 1, found 80; write 80 % as 0.8");
/// # Ok::<(), rooflut::Invalid>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Coverage(f64);

/// The range that a measurement is expected in.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Interval {
    /// Lower end.
    pub low: Seconds,
    /// Upper end.
    pub high: Seconds,
}

impl Coverage {
    /// Creates a coverage of `share`.
    ///
    /// # Errors
    /// `share` is not strictly between 0 and 1: no interval contains every measurement.
    pub fn try_new(share: f64) -> Result<Coverage, Invalid> {
        let invalid = |text, values: &[MessagePart]| Err(Invalid::new("coverage", text, values));
        match share {
            _ if share > 0.0 && share < 1.0 => Ok(Coverage(share)),
            _ if share > 1.0 && share < 100.0 => invalid(
                "expected a share between 0 and 1, found {}; write {} % as {}",
                &[share.into(), share.into(), (share / 100.0).into()],
            ),
            _ if share.is_nan() => invalid("expected a share between 0 and 1, found no number; write 80 % as 0.8", &[]),
            _ => invalid("expected a share between 0 and 1, found {}; write 80 % as 0.8", &[share.into()]),
        }
    }

    /// Returns the share, between 0 and 1.
    pub const fn share(self) -> f64 {
        self.0
    }

    /// Returns the half width of the interval of a Laplace distribution with this mean absolute error:
    /// P(|x| > w) = exp(-w / mean).
    ///
    /// Source: in `bench_data/errors.csv` the quantile at 95 % is 1.8 to 2.4 times that at 80 % (quartiles; median
    /// 2.0). A Laplace distribution has a ratio of 1.86, a normal one of 1.53.
    pub fn laplace(self, mean_absolute: f64) -> f64 {
        mean_absolute * self.exponents()
    }

    /// Returns -ln(1 - share).
    fn exponents(self) -> f64 {
        -ln(1.0 - self.0)
    }

    /// Returns the quantile for this coverage, from the quantiles at 50, 80 and 95 %: linear in -ln(1 - share), through
    /// 0 at 0 and beyond 95 % with the slope before it.
    pub fn quantile(self, [half, most, nearly_all]: [f32; 3]) -> f64 {
        let knots = [
            (0.0, 0.0),
            (core::f64::consts::LN_2, f64::from(half)),
            (LN_5, f64::from(most)),
            (LN_20, f64::from(nearly_all)),
        ];
        let at = self.exponents();
        let [none, half, most, nearly_all] = knots;
        let ((from, low), (to, high)) = if at <= half.0 {
            (none, half)
        } else if at <= most.0 {
            (half, most)
        } else {
            (most, nearly_all)
        };
        low + (high - low) * (at - from) / (to - from)
    }
}

/// -ln(1 - 0.8)
const LN_5: f64 = 1.609_437_912_434_100_3;
/// -ln(1 - 0.95)
const LN_20: f64 = 2.995_732_273_553_991;

impl Interval {
    /// Returns the range from `time` / exp(`half_width`) to `time` x exp(`half_width`). The lower end is at least
    /// `bound`.
    pub fn around(time: Seconds, half_width: f64, bound: Seconds) -> Interval {
        let factor = exp(half_width);
        Interval { low: Seconds(time.0 / factor).max(Seconds(bound.0.min(time.0))), high: time * factor }
    }

    /// Returns the interval of `time` with the half widths of `self` and an independent `half_width`, added in
    /// quadrature. An end of `self` on the wrong side of `time` counts as `time`.
    pub fn widened(self, time: Seconds, half_width: f64) -> Interval {
        let beyond = |ratio: f64| exp(in_quadrature([ln(ratio.max(1.0)), half_width].into_iter()));
        if time.0 <= 0.0 {
            return self;
        }
        Interval { low: Seconds(time.0 / beyond(time.0 / self.low.0)), high: time * beyond(self.high.0 / time.0) }
    }

    /// Returns whether `time` lies within the interval, ends included.
    pub fn contains(&self, time: Seconds) -> bool {
        self.low <= time && time <= self.high
    }
}

/// Returns the half width of a sum of independent errors.
pub(crate) fn in_quadrature(half_widths: impl Iterator<Item = f64>) -> f64 {
    sqrt(half_widths.map(|width| width * width).sum())
}

/// 80 %.
impl Default for Coverage {
    fn default() -> Coverage {
        Coverage(0.8)
    }
}

impl FromStr for Coverage {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Coverage, Invalid> {
        Coverage::try_new(text.trim().parse().unwrap_or(f64::NAN))
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn shares_outside_0_to_1_are_refused_with_what_to_write() {
        for (text, expected) in [
            ("0", "found 0; write 80 % as 0.8"),
            ("1", "found 1; write 80 % as 0.8"),
            ("-0.5", "found -0.5; write 80 % as 0.8"),
            ("95", "found 95; write 95 % as 0.95"),
            ("inf", "found inf; write 80 % as 0.8"),
            ("most", "found no number; write 80 % as 0.8"),
        ] {
            let error = text.parse::<Coverage>().unwrap_err().to_string();
            let expected = std::format!("coverage: expected a share between 0 and 1, {expected}");
            assert_eq!(error, expected, "{text}");
        }
        assert_eq!(" 0.95 ".parse(), Coverage::try_new(0.95));
    }

    #[test]
    fn quantiles_are_those_given_and_grow_between_and_beyond_them() {
        let quantile = |share| Coverage(share).quantile([0.02, 0.05, 0.1]);
        for (share, expected) in [(0.5, 0.02), (0.8, 0.05), (0.95, 0.1)] {
            assert!((quantile(share) - expected).abs() < 1e-8, "{share}");
        }
        let shares = [1e-6, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.9999];
        for pair in shares.windows(2) {
            assert!(0.0 < quantile(pair[0]) && quantile(pair[0]) < quantile(pair[1]));
        }
        assert!(quantile(0.9999).is_finite());
    }

    #[test]
    fn a_laplace_distribution_has_its_quantiles() {
        // scipy.stats.laplace(scale=0.02).interval(0.8)
        assert!((Coverage(0.8).laplace(0.02) - 0.032_188_758).abs() < 1e-8);
    }

    #[test]
    fn independent_errors_add_up_in_quadrature() {
        let simulated = Interval::around(Seconds(2.0), 0.03, Seconds::ZERO);
        let widened = simulated.widened(Seconds(2.0), 0.04);
        assert!((widened.high.0 / 2.0 - exp(0.05)).abs() < 1e-9);
        assert!((widened.low.0 * exp(0.05) - 2.0).abs() < 1e-9);
        let crossed = Interval { low: Seconds(3.0), high: Seconds(1.0) };
        let crossed = crossed.widened(Seconds(2.0), 0.04);
        assert!((ln(crossed.high.0 / 2.0) - 0.04).abs() < 1e-9);
        assert!((ln(crossed.low.0 / 2.0) + 0.04).abs() < 1e-9);
    }

    #[test]
    fn an_interval_does_not_reach_below_its_bound() {
        let around = |bound| Interval::around(Seconds(2.0), 1.0, Seconds(bound));
        assert!((around(0.0).low.0 - 0.735_758_88).abs() < 1e-8);
        assert_eq!(around(1.5).low, Seconds(1.5));
        assert_eq!(around(2.5).low, Seconds(2.0));
        assert!((around(1.5).high.0 - 5.436_563_66).abs() < 1e-8);
        assert!(around(1.5).contains(Seconds(1.5)) && !around(1.5).contains(Seconds(1.4)));
    }
}
