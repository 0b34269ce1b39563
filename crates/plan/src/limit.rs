//! Limits on latencies.

use std::fmt;
use std::str::FromStr;

use rooflut::units::Seconds;
use rooflut_report::{LatencyMs, Percentiles};
use rooflut_scenario::{Bound, Error, Goal, Kind, Latency, LatencyLimit, Score};

/// A figure of a latency over the requests of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Figure {
    /// Arithmetic mean.
    Mean,
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    #[default]
    P99,
    /// 99.9th percentile.
    P99_9,
}

impl Figure {
    const ALL: [(&'static str, Figure); 6] = [
        ("mean", Figure::Mean),
        ("p50", Figure::P50),
        ("p90", Figure::P90),
        ("p95", Figure::P95),
        ("p99", Figure::P99),
        ("p99.9", Figure::P99_9),
    ];

    /// Returns its name: `p99`.
    pub fn name(self) -> &'static str {
        let named = Figure::ALL.into_iter().find(|(_, figure)| *figure == self);
        named.map_or("p99", |(name, _)| name)
    }

    /// Returns the share of requests below it, in thousandths; `None` for the mean.
    pub(crate) fn per_mille(self) -> Option<u64> {
        match self {
            Figure::Mean => None,
            Figure::P50 => Some(500),
            Figure::P90 => Some(900),
            Figure::P95 => Some(950),
            Figure::P99 => Some(990),
            Figure::P99_9 => Some(999),
        }
    }

    /// Returns the number of requests from which on it is known.
    pub(crate) fn least_requests(self) -> u64 {
        let of = |per_mille: u64| (1_000 * LatencyMs::MIN_BEYOND).div_ceil(1_000 - per_mille);
        self.per_mille().map_or(1, of)
    }

    /// Returns the highest figure that is known of so many requests.
    pub(crate) fn highest_of(requests: u64) -> Figure {
        let known = |(_, figure): &(&str, Figure)| figure.least_requests() <= requests;
        let highest = Figure::ALL.into_iter().rev().find(known);
        highest.map_or(Figure::Mean, |(_, figure)| figure)
    }

    /// Returns this one of several figures.
    pub(crate) fn of<T>(self, figures: Percentiles<T>) -> Option<T> {
        match self {
            Figure::Mean => figures.mean,
            Figure::P50 => figures.p50,
            Figure::P90 => figures.p90,
            Figure::P95 => figures.p95,
            Figure::P99 => figures.p99,
            Figure::P99_9 => figures.p99_9,
        }
    }
}

/// A limit on a figure of a latency: `ttft:500` limits the p99; `tpot:20@p95` and `e2e:30s@mean` name another figure.
///
/// ```
/// use rooflut_plan::{Figure, Limit};
/// let limit: Limit = "ttft:500".parse()?;
/// assert_eq!(limit.figure(), Figure::P99);
/// assert_eq!(limit.to_string(), "ttft:500@p99");
/// assert!("ttft:500@p42".parse::<Limit>().is_err());
/// # Ok::<(), rooflut_scenario::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    latency: LatencyLimit,
    figure: Option<Figure>,
}

impl Limit {
    /// The latency.
    pub fn latency(&self) -> Latency {
        self.latency.latency()
    }

    /// Its maximum, milliseconds.
    pub fn ms(&self) -> f64 {
        self.latency.ms()
    }

    /// Returns the limit on another figure of the latency.
    pub(crate) fn on(self, figure: Figure) -> Limit {
        Limit { figure: Some(figure), ..self }
    }

    /// The figure that is limited; by default the p99.
    pub fn figure(&self) -> Figure {
        self.figure.unwrap_or_default()
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.latency, self.figure().name())
    }
}

fn wrong(text: String) -> Error {
    Error::new(Kind::Value, text)
}

/// Smallest limit, in milliseconds.
const LEAST_MS: f64 = 0.001;

impl FromStr for Limit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Limit, Error> {
        let (latency, figure) = match text.split_once('@') {
            Some((latency, figure)) => (latency, Some(figure)),
            None => (text, None),
        };
        let latency: LatencyLimit = latency
            .parse()
            .map_err(|error: Error| error.map(|text| format!("{text}, and @p95 for another figure than p99")))?;
        if latency.ms() < LEAST_MS {
            return Err(wrong(format!(
                "expected a limit of at least {LEAST_MS} ms, found {text}; no request takes less"
            )));
        }
        let named = |name: &str| {
            let found = Figure::ALL.into_iter().find(|(known, _)| *known == name);
            found.map(|(_, figure)| figure).ok_or_else(|| {
                let known = Figure::ALL.map(|(known, _)| known).join(", ");
                wrong(format!("expected one of {known} after @, found {name:?}"))
            })
        };
        Ok(Limit { latency, figure: figure.map(named).transpose()? })
    }
}

/// The conditions under which a deployment serves its load well.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    limits: Vec<Limit>,
    attainment: Option<f64>,
}

impl Limits {
    /// Limits on figures; with `attainment`, a share of requests that meet all limits together in place of the figures.
    ///
    /// # Errors
    /// No limit, two on the same figure, a share that is not between 0 and 1, and a share with the name of a figure.
    pub fn try_new(limits: Vec<Limit>, attainment: Option<f64>) -> Result<Limits, Error> {
        let error = |text: String| Err(wrong(text));
        let is_same =
            |a: &Limit, b: &Limit| a.latency() == b.latency() && (attainment.is_some() || a.figure() == b.figure());
        let mut rest = limits.as_slice();
        while let Some((limit, others)) = rest.split_first() {
            if let Some(other) = others.iter().find(|other| is_same(limit, other)) {
                return error(format!("expected one limit on a figure, found {limit} and {other}; leave one out"));
            }
            rest = others;
        }
        if limits.is_empty() {
            return error("expected at least one limit, as in ttft:500; give one".to_owned());
        }
        match attainment {
            Some(share) if !(share > 0.0 && share < 1.0) => error(format!(
                "expected a share of requests between 0 and 1, found {share}; write 99 % as 0.99"
            )),
            Some(_) if limits.iter().any(|limit| limit.figure.is_some()) => error(
                "expected limits on each request beside a share of requests, found one on a figure; leave @ and its name out"
                    .to_owned(),
            ),
            _ => Ok(Limits { limits, attainment }),
        }
    }

    /// No limit but that every request is served by servers that keep up with the load.
    pub(crate) const NONE: Limits = Limits { limits: Vec::new(), attainment: None };

    /// The limits.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// Whether there is one.
    pub(crate) fn is_any(&self) -> bool {
        !self.limits.is_empty()
    }

    /// Share of requests that must meet all limits together; `None` for limits on figures.
    pub fn attainment(&self) -> Option<f64> {
        self.attainment
    }

    /// Returns the limits as a run counts goodput within them.
    pub(crate) fn goodput(&self) -> Option<Vec<LatencyLimit>> {
        let limits = self.limits.iter().map(|limit| limit.latency);
        self.attainment.map(|_| limits.collect())
    }

    /// Returns what a run must last for to show whether they hold.
    pub(crate) fn goal(&self) -> Goal {
        let seconds = |limit: &Limit| Seconds(limit.ms() / 1e3);
        let bound = |limit: &Limit| {
            let (score, at_most) = match limit.figure().per_mille() {
                None => (Score::Latency(limit.latency()), seconds(limit).0),
                Some(per_mille) => {
                    let score = Score::Beyond(limit.latency(), seconds(limit));
                    (score, (1_000 - per_mille) as f64 / 1_000.0)
                }
            };
            Bound { score, at_most }
        };
        let limits: Vec<LatencyLimit> = self.limits.iter().map(|limit| limit.latency).collect();
        Goal::Bounds(match (self.attainment, LatencyLimit::combined(&limits)) {
            (Some(share), Some(limits)) => vec![Bound { score: Score::Missed(limits), at_most: 1.0 - share }],
            _ => self.limits.iter().map(bound).collect(),
        })
    }

    /// Returns the limits that prefill servers miss whatever serves the outputs: those on TTFT, times `margin`; `None`
    /// without any, and where a request may miss one.
    pub(crate) fn of_prompts(&self, margin: f64) -> Option<Limits> {
        let of_ttft = self.limits.iter().filter(|limit| limit.latency() == Latency::Ttft);
        let limits: Vec<Limit> =
            of_ttft.map(|limit| Limit { latency: limit.latency.times(margin), ..*limit }).collect();
        (self.attainment.is_none() && !limits.is_empty()).then_some(Limits { limits, attainment: None })
    }

    /// Returns the limits on a request that meets all of them: the tightest on each latency; `None` without limits.
    pub(crate) fn tightest(&self) -> Option<Vec<LatencyLimit>> {
        let mut tightest: Vec<LatencyLimit> = Vec::new();
        for Limit { latency: limit, .. } in &self.limits {
            match tightest.iter_mut().find(|other| other.latency() == limit.latency()) {
                Some(other) if limit.ms() < other.ms() => *other = *limit,
                Some(_) => (),
                None => tightest.push(*limit),
            }
        }
        (!tightest.is_empty()).then_some(tightest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(texts: &[&str], attainment: Option<f64>) -> Result<Limits, String> {
        let limits: Result<Vec<Limit>, Error> = texts.iter().map(|t| t.parse()).collect();
        let limits = limits.and_then(|limits| Limits::try_new(limits, attainment));
        limits.map_err(|error| error.to_string())
    }

    #[test]
    fn limits_name_their_figure_or_mean_the_p99() {
        let two = limits(&["ttft:0.5s", "ttft:200@p50", "tpot:20@mean"], None).unwrap();
        let shown: Vec<String> = two.limits().iter().map(Limit::to_string).collect();
        assert_eq!(shown, ["ttft:500@p99", "ttft:200@p50", "tpot:20@mean"]);
    }

    #[test]
    fn contradictions_are_refused() {
        for (texts, attainment, expected) in [
            (&[][..], None, "at least one limit"),
            (&["ttft:0"], None, "at least 0.001 ms, found ttft:0"),
            (&["ttft:5", "ttft:6@p99"], None, "ttft:5@p99 and ttft:6@p99"),
            (&["ttft:5"], Some(1.0), "found 1"),
            (&["ttft:5@p95"], Some(0.9), "leave @"),
            (&["latency:5"], None, "expected ttft:MS"),
            (&["ttft:5@p9"], None, "found \"p9\""),
        ] {
            let error = limits(texts, attainment).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(limits(&["ttft:5", "tpot:6"], Some(0.9)).is_ok());
    }
}
