//! Numbers with a dimension.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul};

/// A duration in seconds.
///
/// Latencies are `f64` seconds; the simulator's clock is integer nanoseconds. Only [`Seconds::to_nanos`] converts
/// from the former to the latter.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Seconds(pub f64);

impl Seconds {
    /// No time.
    pub const ZERO: Seconds = Seconds(0.0);

    /// Creates a duration from microseconds.
    pub const fn from_us(us: f64) -> Seconds {
        Seconds(us * 1e-6)
    }

    /// Returns the duration in microseconds.
    pub const fn us(self) -> f64 {
        self.0 * 1e6
    }

    /// Returns the duration in milliseconds.
    pub const fn ms(self) -> f64 {
        self.0 * 1e3
    }

    /// Returns whole nanoseconds, halves rounded up; 0 for negative durations and NaN, `u64::MAX` for durations that
    /// are too long.
    ///
    /// ```
    /// use rooflut::units::Seconds;
    /// assert_eq!(Seconds(1.5e-9).to_nanos(), 2);
    /// ```
    pub const fn to_nanos(self) -> u64 {
        // A cast from float saturates and truncates.
        (self.0 * 1e9 + 0.5) as u64
    }

    /// Returns the longer of two durations.
    pub const fn max(self, other: Seconds) -> Seconds {
        Seconds(self.0.max(other.0))
    }
}

impl Add for Seconds {
    type Output = Seconds;

    fn add(self, other: Seconds) -> Seconds {
        Seconds(self.0 + other.0)
    }
}

impl AddAssign for Seconds {
    fn add_assign(&mut self, other: Seconds) {
        self.0 += other.0;
    }
}

impl Mul<f64> for Seconds {
    type Output = Seconds;

    fn mul(self, factor: f64) -> Seconds {
        Seconds(self.0 * factor)
    }
}

impl Sum for Seconds {
    fn sum<I: Iterator<Item = Seconds>>(iter: I) -> Seconds {
        iter.fold(Seconds::ZERO, Add::add)
    }
}

impl fmt::Display for Seconds {
    /// Writes microseconds below 1 ms, milliseconds below 1 s, seconds above.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1e-3 {
            write!(f, "{:.2} us", self.us())
        } else if self.0 < 1.0 {
            write!(f, "{:.3} ms", self.ms())
        } else {
            write!(f, "{:.3} s", self.0)
        }
    }
}

/// Model FLOPs utilization: FLOPs / (latency x peak), between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Mfu(pub f64);

impl fmt::Display for Mfu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_round_to_nearest_and_saturate() {
        assert_eq!(Seconds(1.4e-9).to_nanos(), 1);
        assert_eq!(Seconds(2.0).to_nanos(), 2_000_000_000);
        assert_eq!(Seconds(-1.0).to_nanos(), 0);
        assert_eq!(Seconds(f64::NAN).to_nanos(), 0);
        assert_eq!(Seconds(1e300).to_nanos(), u64::MAX);
    }
}
