//! Limits on latency, and requests that were served within them.

use rooflut::sim::figures::{Goodput, LatencyLimits};
use rooflut::units::Seconds;
use serde::Serialize;

use crate::output::{count, number, plural};

/// `NAME:MS`, a limit on one latency, as vLLM's benchmark has it.
pub(crate) fn latency_limit(text: &str) -> Result<LatencyLimits, String> {
    let mut limits = LatencyLimits::default();
    let limit = text.split_once(':').and_then(|(name, ms)| {
        let ms = ms.parse::<f64>().ok();
        let ms = ms.filter(|ms| *ms >= 0.0 && ms.is_finite())?;
        let slot = match name {
            "ttft" => &mut limits.ttft,
            "tpot" => &mut limits.tpot,
            "e2e" | "e2el" => &mut limits.e2e,
            _ => return None,
        };
        *slot = Some(Seconds(ms / 1e3));
        Some(limits)
    });
    limit.ok_or_else(|| {
        "expected ttft:MS, tpot:MS or e2e:MS, with milliseconds, as in ttft:200".to_owned()
    })
}

/// All limits together, if any are given; of two on the same latency the shorter one counts.
pub(crate) fn goodput_limits(given: &[LatencyLimits]) -> Option<LatencyLimits> {
    given.iter().copied().reduce(|mut all, one| {
        for (slot, limit) in [
            (&mut all.ttft, one.ttft),
            (&mut all.tpot, one.tpot),
            (&mut all.e2e, one.e2e),
        ] {
            *slot = match (*slot, limit) {
                (Some(a), Some(b)) if b < a => Some(b),
                (a, b) => a.or(b),
            };
        }
        all
    })
}

/// For people: `12.3 requests/s with TTFT <= 200 ms, TPOT <= 20 ms (1,234 of 2,000 requests)`.
pub(crate) fn describe(goodput: &Goodput, requests: u64) -> String {
    let limits = &goodput.limits;
    let limits = [
        ("TTFT", limits.ttft),
        ("TPOT", limits.tpot),
        ("E2E", limits.e2e),
    ];
    let limits = limits
        .into_iter()
        .filter_map(|(name, limit)| Some(format!("{name} <= {} ms", milliseconds(limit?))));
    format!(
        "{} requests/s with {} ({} of {})",
        number(goodput.per_s, 2),
        limits.collect::<Vec<_>>().join(", "),
        count(goodput.met),
        plural(requests, "request"),
    )
}

/// The limit as it was given, but for noise in the last digits.
fn milliseconds(limit: Seconds) -> f64 {
    (limit.ms() * 1e6).round() / 1e6
}

/// Requests within limits, as JSON has them.
#[derive(Serialize)]
pub(crate) struct GoodputJson {
    ttft_ms: Option<f64>,
    tpot_ms: Option<f64>,
    e2e_ms: Option<f64>,
    met: u64,
    requests_per_s: f64,
}

impl From<Goodput> for GoodputJson {
    fn from(goodput: Goodput) -> GoodputJson {
        let limits = goodput.limits;
        GoodputJson {
            ttft_ms: limits.ttft.map(milliseconds),
            tpot_ms: limits.tpot.map(milliseconds),
            e2e_ms: limits.e2e.map(milliseconds),
            met: goodput.met,
            requests_per_s: goodput.per_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(texts: &[&str]) -> Option<LatencyLimits> {
        let limits: Vec<LatencyLimits> = texts.iter().map(|t| latency_limit(t).unwrap()).collect();
        goodput_limits(&limits)
    }

    #[test]
    fn limits_are_read_as_vllm_writes_them_and_all_of_them_count() {
        assert_eq!(all(&[]), None);
        let limits = all(&["ttft:200", "tpot:20.5", "e2el:30000"]).unwrap();
        assert_eq!(limits.ttft, Some(Seconds(0.2)));
        assert_eq!(limits.tpot, Some(Seconds(0.0205)));
        assert_eq!(limits.e2e, Some(Seconds(30.0)));
        assert_eq!(all(&["ttft:200"]).unwrap().e2e, None);
        assert_eq!(
            all(&["ttft:200", "e2e:5", "ttft:100"]),
            all(&["ttft:100", "ttft:300", "e2e:5"])
        );
    }

    #[test]
    fn limits_that_mean_nothing_are_refused() {
        for wrong in [
            "ttft",
            "ttft:",
            "ttft:fast",
            "ttft:-1",
            "itl:5",
            "ttft:NaN",
            "ttft:inf",
            "",
        ] {
            assert!(latency_limit(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_are_written_as_they_were_given() {
        for ms in [0.1, 0.3, 7.7, 20.0, 33.3, 123_456.789] {
            let given = Seconds(ms / 1e3);
            assert_eq!(milliseconds(given).to_string(), ms.to_string());
        }
    }
}
