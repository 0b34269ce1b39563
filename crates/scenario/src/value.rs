//! Values of keys that have a text form of their own.

use std::fmt;
use std::str::FromStr;

use rooflut::Invalid;
use rooflut::sim::RequestRecord;
use rooflut::sim::figures::LatencyLimits;
use rooflut::sim::load::{self, Priorities, SharedPrefixes};
use rooflut::units::Seconds;
use rooflut_error::Error;
use serde::Serialize;

use crate::number::{invalid, milliseconds, seconds, seconds_or, whole};

/// A pause of users: `20` or `exponential:20`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ThinkTime {
    /// Always the same.
    Fixed(f64),
    /// Exponentially distributed with this mean.
    Exponential(f64),
}

impl ThinkTime {
    /// No pause.
    pub const NONE: ThinkTime = ThinkTime::Fixed(0.0);

    pub(crate) fn distribution(self) -> Result<load::ThinkTime, Invalid> {
        match self {
            ThinkTime::Fixed(seconds) => load::ThinkTime::try_fixed(Seconds(seconds)),
            ThinkTime::Exponential(mean) => load::ThinkTime::try_exponential(Seconds(mean)),
        }
    }
}

impl FromStr for ThinkTime {
    type Err = Error;

    fn from_str(text: &str) -> Result<ThinkTime, Error> {
        let pause = match text.split_once(':') {
            None => seconds(text).ok().map(ThinkTime::Fixed),
            Some(("exponential", mean)) => seconds(mean).ok().map(ThinkTime::Exponential),
            Some(_) => None,
        };
        let pause = pause
            .ok_or(invalid("expected SECONDS or exponential:MEAN_SECONDS, as in 2.5, or with a unit, as in 500ms"))?;
        pause.distribution().map_err(|error| invalid(error.to_string()))?;
        Ok(pause)
    }
}

impl fmt::Display for ThinkTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThinkTime::Fixed(seconds) => seconds.fmt(f),
            ThinkTime::Exponential(mean) => write!(f, "exponential:{mean}"),
        }
    }
}

/// Width of the windows of a run: seconds, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WindowWidth {
    /// 1, 2 or 5 times a power of ten, such that the run has 40 to 100 windows. Takes one more simulation.
    Auto,
    /// Seconds.
    Seconds(f64),
}

impl WindowWidth {
    /// Returns the given width; `None` for [`Auto`](WindowWidth::Auto).
    pub fn seconds(self) -> Option<f64> {
        match self {
            WindowWidth::Auto => None,
            WindowWidth::Seconds(seconds) => Some(seconds),
        }
    }
}

impl FromStr for WindowWidth {
    type Err = Error;

    fn from_str(text: &str) -> Result<WindowWidth, Error> {
        let expected = "expected auto, seconds or a time with its unit, as in 30 or 2m";
        match text {
            "auto" => Ok(WindowWidth::Auto),
            text => seconds_or(text, expected).map(WindowWidth::Seconds),
        }
    }
}

impl fmt::Display for WindowWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowWidth::Auto => f.write_str("auto"),
            WindowWidth::Seconds(seconds) => seconds.fmt(f),
        }
    }
}

/// Texts that prompts begin with: `GROUPSxTOKENS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefixes {
    /// Number of different texts.
    pub groups: u32,
    /// Tokens of each.
    pub tokens: u32,
}

impl Prefixes {
    pub(crate) fn shared(self) -> Result<SharedPrefixes, Invalid> {
        SharedPrefixes::try_new(self.groups, self.tokens)
    }
}

impl FromStr for Prefixes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Prefixes, Error> {
        let split = text.split_once(['x', 'X']);
        let read = split.and_then(|(groups, tokens)| {
            let (groups, tokens) = (whole(groups).ok()?, whole(tokens).ok()?);
            (groups > 0 && tokens > 0).then_some(Prefixes { groups, tokens })
        });
        read.ok_or(invalid(
            "expected GROUPSxTOKENS, both at least 1: different prefixes and the tokens of each, as in 10x1000",
        ))
    }
}

impl fmt::Display for Prefixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.groups, self.tokens)
    }
}

/// Largest distance of a sum of shares from 1: thirds may be written with three digits.
const SUM_ERROR: f64 = 0.002;

/// Shares of the priorities 0 (most urgent), 1 and so on: `0.8,0.2`, in a file a list of numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "Vec<f64>")]
pub struct PriorityShares(Vec<f64>);

impl PriorityShares {
    /// The shares, the most urgent first.
    pub fn shares(&self) -> &[f64] {
        &self.0
    }

    pub(crate) fn priorities(&self) -> Result<Priorities, Invalid> {
        Priorities::try_new(self.0.iter().copied())
    }
}

impl TryFrom<Vec<f64>> for PriorityShares {
    type Error = Error;

    fn try_from(shares: Vec<f64>) -> Result<PriorityShares, Error> {
        let shares = PriorityShares(shares);
        shares.priorities().map_err(|error| invalid(error.to_string()))?;
        let sum: f64 = shares.0.iter().sum();
        if (sum - 1.0).abs() < SUM_ERROR {
            Ok(shares)
        } else {
            Err(invalid(format!("expected shares whose sum is 1, found the sum {sum}")))
        }
    }
}

impl From<PriorityShares> for Vec<f64> {
    fn from(shares: PriorityShares) -> Vec<f64> {
        shares.0
    }
}

impl FromStr for PriorityShares {
    type Err = Error;

    fn from_str(text: &str) -> Result<PriorityShares, Error> {
        let shares: Result<Vec<f64>, _> = text.split(',').map(|s| s.trim().parse()).collect();
        shares.map_err(|_| invalid("expected shares with commas between them, as in 0.8,0.2"))?.try_into()
    }
}

/// A limit on one latency, as vLLM's benchmark writes it: `ttft:200`, `tpot:20` or `e2e:30000`, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyLimit {
    latency: Latency,
    ms: f64,
}

/// A latency of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Latency {
    /// Time to first token.
    Ttft,
    /// Time per output token after the first.
    Tpot,
    /// Time from the arrival to the last token.
    E2e,
}

impl Latency {
    /// Returns the latency of a request; `None` if it was rejected, or has no second token.
    pub(crate) fn of(self, record: &RequestRecord) -> Option<Seconds> {
        match self {
            Latency::Ttft => record.ttft(),
            Latency::Tpot => record.tpot(),
            Latency::E2e => record.e2e(),
        }
    }

    /// Returns its name in limits: `ttft`, `tpot` or `e2e`.
    pub fn name(self) -> &'static str {
        match self {
            Latency::Ttft => "ttft",
            Latency::Tpot => "tpot",
            Latency::E2e => "e2e",
        }
    }
}

impl LatencyLimit {
    /// The latency.
    pub fn latency(&self) -> Latency {
        self.latency
    }

    /// Its maximum, milliseconds.
    pub fn ms(&self) -> f64 {
        self.ms
    }

    /// Returns the limit with `factor` times its maximum.
    #[must_use]
    pub fn times(self, factor: f64) -> LatencyLimit {
        LatencyLimit { ms: self.ms * factor, ..self }
    }

    /// Returns the name of a latency that has more than one limit.
    pub(crate) fn repeated(limits: &[LatencyLimit]) -> Option<&'static str> {
        let of = |latency| limits.iter().filter(|limit| limit.latency == latency).count();
        let all = [Latency::Ttft, Latency::Tpot, Latency::E2e];
        all.into_iter().find(|latency| of(*latency) > 1).map(Latency::name)
    }

    /// Combines limits; `None` without any. [`Scenario::check`](crate::Scenario::check) rejects two on the same
    /// latency.
    pub fn combined(limits: &[LatencyLimit]) -> Option<LatencyLimits> {
        let mut all = LatencyLimits::default();
        for LatencyLimit { latency, ms } in limits {
            let slot = match latency {
                Latency::Ttft => &mut all.ttft,
                Latency::Tpot => &mut all.tpot,
                Latency::E2e => &mut all.e2e,
            };
            *slot = Some(Seconds(ms / 1e3));
        }
        (!limits.is_empty()).then_some(all)
    }
}

impl FromStr for LatencyLimit {
    type Err = Error;

    fn from_str(text: &str) -> Result<LatencyLimit, Error> {
        let limit = text.split_once(':').and_then(|(name, ms)| {
            let latency = match name {
                "ttft" => Latency::Ttft,
                "tpot" => Latency::Tpot,
                "e2e" | "e2el" => Latency::E2e,
                _ => return None,
            };
            let ms = milliseconds(ms).ok().filter(|ms| *ms >= 0.0 && f64::is_finite(*ms))?;
            Some(LatencyLimit { latency, ms })
        });
        let expected = "expected ttft:MS, tpot:MS or e2e:MS, with milliseconds or a unit, as in ttft:200 or e2e:30s";
        limit.ok_or_else(|| match text.split_once('@') {
            Some((limit, figure)) if limit.parse::<LatencyLimit>().is_ok() => invalid(format!(
                "{expected}; a figure such as {} is for `rooflut plan` and `rooflut saturate`",
                shortened(figure)
            )),
            _ => invalid(expected),
        })
    }
}

impl fmt::Display for LatencyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.latency.name(), self.ms)
    }
}

/// Maximum number of characters of a text that a message shows.
const SHOWN: usize = 40;

/// Returns `text` without its end, if it is long.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(texts: &[&str]) -> Option<LatencyLimits> {
        let limits: Vec<LatencyLimit> = texts.iter().map(|text| text.parse().unwrap()).collect();
        LatencyLimit::combined(&limits)
    }

    #[test]
    fn values_are_read_as_documented() {
        assert_eq!("2.5".parse(), Ok(ThinkTime::Fixed(2.5)));
        assert_eq!("500ms".parse(), Ok(ThinkTime::Fixed(0.5)));
        assert_eq!("exponential:20".parse(), Ok(ThinkTime::Exponential(20.0)));
        let (groups, tokens) = (10, 1_000);
        assert_eq!("10x1000".parse(), Ok(Prefixes { groups, tokens }));
        assert_eq!("0.8, 0.2".parse(), Ok(PriorityShares(vec![0.8, 0.2])));
        assert!("0.333,0.333,0.333".parse::<PriorityShares>().is_ok());
    }

    #[test]
    fn limits_are_read_as_vllm_writes_them_and_all_of_them_apply() {
        assert_eq!(limits(&[]), None);
        let all = limits(&["ttft:200", "tpot:20.5", "e2el:30000"]).unwrap();
        assert_eq!(all.ttft, Some(Seconds(0.2)));
        assert_eq!(all.tpot, Some(Seconds(0.0205)));
        assert_eq!(all.e2e, Some(Seconds(30.0)));
        assert_eq!(limits(&["ttft:200"]).unwrap().e2e, None);
        assert_eq!(limits(&["ttft:200ms", "tpot:20.5ms", "e2e:30s"]), Some(all));
    }

    #[test]
    fn a_limit_on_a_figure_is_refused_with_those_that_take_it() {
        let message = |text: &str| text.parse::<LatencyLimit>().unwrap_err().to_string();
        assert!(
            message("ttft:500@p95").contains("a figure such as p95 is for `rooflut plan`"),
            "{}",
            message("ttft:500@p95")
        );
        assert!(!message("itl:500@p95").contains("figure"));
    }
}
