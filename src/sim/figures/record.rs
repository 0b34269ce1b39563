//! Records of requests: whether they were served, and when.

use crate::sim::{Rejection, Request};
use crate::units::Seconds;

/// A request and its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestRecord {
    /// The request as it was given.
    pub request: Request,
    /// Whether it was served, and when.
    pub outcome: Outcome,
}

/// Whether a request was served, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Outcome {
    /// It was served in full.
    Completed(Timing),
    /// It can never be served.
    Rejected(Rejection),
}

/// When things happened to a request, in nanoseconds from the start of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timing {
    /// When the engine saw it, after the API server.
    pub at_engine_ns: u64,
    /// When a step with its first chunk was fixed (vLLM's "scheduled" event).
    pub scheduled_ns: u64,
    /// When the step that yields its first token ended.
    pub first_token_ns: u64,
    /// When the step that yields its last token ended.
    pub finish_ns: u64,
    /// How often it lost its KV blocks.
    pub preemptions: u32,
    /// The replica that served it, counted from 0.
    pub replica: u32,
    /// How it went from a prefill to a decode server; none where one server did both.
    pub kv_transfer: Option<KvTransfer>,
}

/// How a request went from a prefill to a decode server; nanoseconds from the start of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KvTransfer {
    /// The replica that computed its prompt.
    pub prefill_replica: u32,
    /// When its prompt was computed.
    pub prefilled_ns: u64,
    /// When the KV entries of its prompt had come to the decode server.
    pub delivered_ns: u64,
    /// When its first step on the decode server was fixed.
    pub scheduled_ns: u64,
}

impl RequestRecord {
    /// The record of `request`.
    pub const fn new(request: Request, outcome: Outcome) -> RequestRecord {
        RequestRecord { request, outcome }
    }

    /// When things happened, if it was served.
    pub fn timing(&self) -> Option<&Timing> {
        match &self.outcome {
            Outcome::Completed(timing) => Some(timing),
            Outcome::Rejected(_) => None,
        }
    }

    /// Time to first token, from the arrival.
    pub fn ttft(&self) -> Option<Seconds> {
        self.timing()
            .map(|t| span(self.request.arrival_ns, t.first_token_ns))
    }

    /// Mean time per output token after the first; none for a single token.
    pub fn tpot(&self) -> Option<Seconds> {
        let gaps = self.request.output_tokens.checked_sub(1)?;
        let timing = self.timing()?;
        let time = span(timing.first_token_ns, timing.finish_ns);
        (gaps > 0).then(|| Seconds(time.0 / f64::from(gaps)))
    }

    /// Time from the arrival to the last token.
    pub fn e2e(&self) -> Option<Seconds> {
        self.timing()
            .map(|t| span(self.request.arrival_ns, t.finish_ns))
    }

    /// Time from the moment when the engine saw it to that when it was first scheduled.
    pub fn queue(&self) -> Option<Seconds> {
        self.timing().map(|t| span(t.at_engine_ns, t.scheduled_ns))
    }

    /// All the time in which it waited for its first token without being computed: in the queue, and between
    /// prefill and decode where these are on servers of their own.
    pub fn waiting(&self) -> Option<Seconds> {
        let kv_transfer = self.timing()?.kv_transfer;
        let between = kv_transfer.map_or(Seconds::ZERO, |h| span(h.prefilled_ns, h.scheduled_ns));
        Some(self.queue()? + between)
    }
}

/// The time between two points of the integer clock.
pub(crate) fn span(from_ns: u64, to_ns: u64) -> Seconds {
    Seconds(to_ns.saturating_sub(from_ns) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_the_arrival_and_gaps_from_the_first_token() {
        let mut record = RequestRecord {
            request: Request {
                arrival_ns: 1_000_000_000,
                prompt_tokens: 10,
                output_tokens: 5,
                cached_prompt_tokens: 0,
                ..Request::default()
            },
            outcome: Outcome::Completed(Timing {
                at_engine_ns: 1_100_000_000,
                scheduled_ns: 1_500_000_000,
                first_token_ns: 2_000_000_000,
                finish_ns: 3_000_000_000,
                ..Timing::default()
            }),
        };
        assert_eq!(record.queue(), Some(Seconds(0.4)));
        assert_eq!(record.ttft(), Some(Seconds(1.0)));
        assert_eq!(record.tpot(), Some(Seconds(0.25)));
        assert_eq!(record.e2e(), Some(Seconds(2.0)));

        record.request.output_tokens = 1;
        assert_eq!(record.tpot(), None);
        record.outcome = Outcome::Rejected(Rejection::EmptyPrompt);
        assert_eq!(record.ttft(), None);
    }
}
