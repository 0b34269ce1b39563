//! Values of arguments of the workload: what they look like and what is refused.

use rooflut::sim::SimError;
use rooflut::sim::load::{Priorities, SharedPrefixes, ThinkTime};
use rooflut::units::Seconds;

/// How long users pause: `20` or `exponential:20`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ThinkTimeArg {
    /// Always the same.
    Fixed(f64),
    /// Exponentially distributed around this mean.
    Exponential(f64),
}

impl ThinkTimeArg {
    /// No pause.
    pub(crate) const NONE: ThinkTimeArg = ThinkTimeArg::Fixed(0.0);

    /// The distribution of the library.
    pub(super) fn think_time(self) -> Result<ThinkTime, SimError> {
        match self {
            ThinkTimeArg::Fixed(seconds) => ThinkTime::try_fixed(Seconds(seconds)),
            ThinkTimeArg::Exponential(mean) => ThinkTime::try_exponential(Seconds(mean)),
        }
    }
}

/// Reads a pause.
pub(crate) fn think_time(text: &str) -> Result<ThinkTimeArg, String> {
    let pause = match text.split_once(':') {
        None => text.parse().ok().map(ThinkTimeArg::Fixed),
        Some(("exponential", mean)) => mean.parse().ok().map(ThinkTimeArg::Exponential),
        Some(_) => None,
    };
    let pause = pause.ok_or("expected SECONDS or exponential:MEAN_SECONDS, as in 2.5")?;
    pause.think_time().map_err(|error| error.to_string())?;
    Ok(pause)
}

/// Texts that prompts begin with: `GROUPSxTOKENS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrefixesArg {
    pub(crate) groups: u32,
    pub(crate) tokens: u32,
}

impl PrefixesArg {
    /// As the library has them.
    pub(super) fn prefixes(self) -> Result<SharedPrefixes, SimError> {
        SharedPrefixes::try_new(self.groups, self.tokens)
    }
}

/// Reads the number and the length of prefixes.
pub(crate) fn prefixes(text: &str) -> Result<PrefixesArg, String> {
    let positive = |text: &str| text.parse().ok().filter(|value: &u32| *value > 0);
    text.split_once(['x', 'X'])
        .and_then(|(groups, tokens)| Some((positive(groups)?, positive(tokens)?)))
        .map(|(groups, tokens)| PrefixesArg { groups, tokens })
        .ok_or_else(|| {
            "expected GROUPSxTOKENS, both at least 1: different prefixes and the tokens of each, as \
             in 10x1000"
                .to_owned()
        })
}

/// Shares of the priorities 0, 1 and so on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SharesArg(pub(crate) Vec<f64>);

impl SharesArg {
    /// As the library has them.
    pub(super) fn priorities(&self) -> Result<Priorities, SimError> {
        Priorities::try_new(self.0.iter().copied())
    }
}

/// Reads shares.
pub(crate) fn shares(text: &str) -> Result<SharesArg, String> {
    let shares: Result<Vec<f64>, _> = text.split(',').map(|share| share.trim().parse()).collect();
    let shares = shares.map_err(|_| "expected shares with commas between them, as in 0.8,0.2")?;
    let shares = SharesArg(shares);
    shares.priorities().map_err(|error| error.to_string())?;
    Ok(shares)
}

/// How even gamma-distributed gaps are.
pub(crate) fn burstiness(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(shape) if shape > 0.0 && shape.is_finite() => Ok(shape),
        _ => Err(
            "expected a positive, finite number; below 1 is more bursty than Poisson".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_documented() {
        assert_eq!(think_time("2.5"), Ok(ThinkTimeArg::Fixed(2.5)));
        let mean = think_time("exponential:20");
        assert_eq!(mean, Ok(ThinkTimeArg::Exponential(20.0)));
        let (groups, tokens) = (10, 1_000);
        assert_eq!(prefixes("10x1000"), Ok(PrefixesArg { groups, tokens }));
        assert_eq!(shares("0.8, 0.2"), Ok(SharesArg(vec![0.8, 0.2])));
        assert_eq!(burstiness("0.25"), Ok(0.25));
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        for wrong in [
            "",
            "-1",
            "NaN",
            "inf",
            "exponential:0",
            "exponential:",
            "gamma:1",
            "2s",
        ] {
            assert!(think_time(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "10", "0x5", "5x0", "x", "5x5x5", "-1x5"] {
            assert!(prefixes(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "0,0", "1,-1", "1,,1", "NaN", "inf", "high"] {
            assert!(shares(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "0", "-1", "NaN", "inf", "high"] {
            assert!(burstiness(wrong).is_err(), "{wrong}");
        }
    }
}
