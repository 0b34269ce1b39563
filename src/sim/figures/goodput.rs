//! Goodput: requests served within latency limits.

use crate::sim::figures::summary::per_second;
use crate::sim::{RequestRecord, SimReport};
use crate::units::Seconds;

/// Latency limits of a request; `None` for no limit.
///
/// ```
/// use rooflut::sim::figures::LatencyLimits;
/// use rooflut::units::Seconds;
/// let mut limits = LatencyLimits::default();
/// limits.ttft = Some(Seconds(0.2));
/// limits.tpot = Some(Seconds(0.02));
/// assert!(limits.e2e.is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct LatencyLimits {
    /// Maximum time to first token.
    pub ttft: Option<Seconds>,
    /// Maximum mean time per output token after the first; a single output token meets it.
    pub tpot: Option<Seconds>,
    /// Maximum time from the arrival to the last token.
    pub e2e: Option<Seconds>,
}

impl LatencyLimits {
    /// Returns whether the request was served and no time is above its limit: the rule of vLLM's
    /// `bench serve --goodput`.
    pub fn are_met_by(&self, record: &RequestRecord) -> bool {
        let within = |time: Option<Seconds>, limit: Option<Seconds>| match (time, limit) {
            (Some(time), Some(limit)) => time <= limit,
            _ => true,
        };
        record.timing().is_some()
            && within(record.ttft(), self.ttft)
            && within(record.tpot(), self.tpot)
            && within(record.e2e(), self.e2e)
    }
}

/// Requests served within latency limits.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Goodput {
    /// The limits.
    pub limits: LatencyLimits,
    /// Requests that met all limits.
    pub met: u64,
    /// Requests that met all limits, per second of the makespan.
    pub per_s: f64,
}

impl Goodput {
    /// Computes the goodput of a run.
    pub fn of(limits: LatencyLimits, report: &SimReport) -> Goodput {
        let records = report.records.iter();
        let met = records.filter(|record| limits.are_met_by(record)).count();
        Goodput::new(limits, met as u64, report.summary.makespan)
    }

    pub(crate) fn new(limits: LatencyLimits, met: u64, makespan: Seconds) -> Goodput {
        Goodput { limits, met, per_s: per_second(met as f64, makespan) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Outcome, Rejection, Request, Timing};

    /// First token after 200 ms, then 4 at 25 ms.
    fn record(output_tokens: u32) -> RequestRecord {
        RequestRecord {
            request: Request { output_tokens, ..Request::default() },
            outcome: Outcome::Completed(Timing {
                first_token_ns: 200_000_000,
                finish_ns: 300_000_000,
                ..Timing::default()
            }),
        }
    }

    fn limits(ttft: Option<f64>, tpot: Option<f64>, e2e: Option<f64>) -> LatencyLimits {
        LatencyLimits { ttft: ttft.map(Seconds), tpot: tpot.map(Seconds), e2e: e2e.map(Seconds) }
    }

    #[test]
    fn every_limit_that_is_given_has_to_be_met_and_its_own_time_meets_it() {
        let five = record(5);
        assert!(limits(None, None, None).are_met_by(&five));
        assert!(limits(Some(0.2), Some(0.025), Some(0.3)).are_met_by(&five));
        assert!(!limits(Some(0.199), None, Some(1.0)).are_met_by(&five));
        assert!(!limits(Some(0.2), Some(0.024), None).are_met_by(&five));
        assert!(!limits(None, None, Some(0.299)).are_met_by(&five));
    }

    #[test]
    fn a_single_token_has_no_time_per_token_and_a_rejected_request_meets_nothing() {
        assert!(limits(None, Some(0.001), None).are_met_by(&record(1)));
        let rejected = RequestRecord { outcome: Outcome::Rejected(Rejection::EmptyPrompt), ..record(5) };
        assert!(!LatencyLimits::default().are_met_by(&rejected));
    }
}
