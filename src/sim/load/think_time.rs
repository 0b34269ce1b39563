//! Pauses of users.

use crate::error::Invalid;
use crate::sim::load::parameter::{not_negative, positive};
use crate::sim::load::random::Random;
use crate::units::Seconds;

/// A distribution of the pause between an answer and the next request of the same user.
///
/// ```
/// use rooflut::sim::load::ThinkTime;
/// use rooflut::units::Seconds;
/// let reading = ThinkTime::try_exponential(Seconds(20.0))?;
/// assert_ne!(reading, ThinkTime::NONE);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThinkTime(Pause);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Pause {
    Fixed(Seconds),
    /// By its mean.
    Exponential(Seconds),
}

impl ThinkTime {
    /// No pause.
    pub const NONE: ThinkTime = ThinkTime(Pause::Fixed(Seconds::ZERO));

    /// Creates a constant pause.
    ///
    /// # Errors
    ///
    /// A pause that is negative or not finite.
    pub fn try_fixed(pause: Seconds) -> Result<ThinkTime, Invalid> {
        let seconds = not_negative("think time", pause.0)?;
        Ok(ThinkTime(Pause::Fixed(Seconds(seconds))))
    }

    /// Creates exponentially distributed pauses with `mean`.
    ///
    /// # Errors
    ///
    /// A mean that is not positive and finite.
    pub fn try_exponential(mean: Seconds) -> Result<ThinkTime, Invalid> {
        let seconds = positive("mean think time", mean.0)?;
        Ok(ThinkTime(Pause::Exponential(Seconds(seconds))))
    }

    /// Draws a pause, in nanoseconds.
    pub(crate) fn sample_ns(self, random: &mut Random) -> u64 {
        match self.0 {
            Pause::Fixed(pause) => pause.to_nanos(),
            Pause::Exponential(mean) => (mean * random.exponential()).to_nanos(),
        }
    }

    /// Draws what is left of a pause that began at a random time before, in nanoseconds: uniform up to a constant
    /// pause, and of an exponential one, which has no memory, a whole one.
    pub(crate) fn sample_rest_ns(self, random: &mut Random) -> u64 {
        match self.0 {
            Pause::Fixed(pause) => (pause * random.fraction()).to_nanos(),
            Pause::Exponential(_) => self.sample_ns(random),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::load::random::Purpose;

    #[test]
    fn fixed_pauses_are_fixed() {
        let mut random = Random::new(1, Purpose::Think);
        let think = ThinkTime::try_fixed(Seconds(1.5)).unwrap();
        assert_eq!(think.sample_ns(&mut random), 1_500_000_000);
        assert_eq!(ThinkTime::NONE.sample_ns(&mut random), 0);
    }

    #[test]
    fn negative_and_infinite_pauses_are_refused() {
        for seconds in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(ThinkTime::try_fixed(Seconds(seconds)).is_err());
            assert!(ThinkTime::try_exponential(Seconds(seconds)).is_err());
        }
        assert!(ThinkTime::try_exponential(Seconds::ZERO).is_err());
    }
}
