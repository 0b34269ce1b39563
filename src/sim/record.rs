//! Records of requests: outcomes and times.

use crate::sim::{Rejection, Request};
use crate::units::Seconds;

/// A request and its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestRecord {
    /// The request as given.
    pub request: Request,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Outcome {
    /// The request was served in full.
    Completed(Timing),
    /// The request was rejected, abandoned by its client ([`Rejection::Abandoned`]), or cancelled
    /// ([`Rejection::Cancelled`]).
    Rejected(Rejection),
}

/// Times of a served request, in nanoseconds from the start of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timing {
    /// When the engine saw the request, after the API server.
    pub at_engine_ns: u64,
    /// When the step with the first chunk was scheduled (vLLM's "scheduled" event).
    pub scheduled_ns: u64,
    /// When the step that yields the first token ended.
    pub first_token_ns: u64,
    /// When the step that yields the last token ended.
    pub finish_ns: u64,
    /// Delay of the tokens in the API server: the server processes all outputs of the step that yields the first token.
    #[cfg_attr(feature = "serde", serde(default))]
    pub api_output_ns: u64,
    /// Number of preemptions.
    pub preemptions: u32,
    /// Prompt tokens found in the prefix cache at the first scheduling, `cached_prompt_tokens` of the request included;
    /// on the prefill server, if there are any.
    #[cfg_attr(feature = "serde", serde(default))]
    pub cached_tokens: u32,
    /// The replica that served the request, counted from 0.
    pub replica: u32,
    /// The transfer from a prefill to a decode server; `None` if one server did both.
    pub kv_transfer: Option<KvTransfer>,
}

/// The transfer of a request from a prefill to a decode server; nanoseconds from the start of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KvTransfer {
    /// The replica that computed the prompt.
    pub prefill_replica: u32,
    /// When the step that computed the end of the prompt ended.
    pub prefilled_ns: u64,
    /// When the KV entries of the prompt were delivered to the decode server.
    pub delivered_ns: u64,
    /// When the first step on the decode server was scheduled.
    pub scheduled_ns: u64,
}

impl RequestRecord {
    /// Creates the record of `request`.
    pub const fn new(request: Request, outcome: Outcome) -> RequestRecord {
        RequestRecord { request, outcome }
    }

    /// Returns the times of the request if it was served.
    pub fn timing(&self) -> Option<&Timing> {
        match &self.outcome {
            Outcome::Completed(timing) => Some(timing),
            Outcome::Rejected(_) => None,
        }
    }

    /// Returns when the client gave up, in nanoseconds from the start of the simulation; `None` if it did not. The
    /// engine aborts the request at the next step boundary.
    pub fn abandoned_ns(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Rejected(Rejection::Abandoned { patience_ns }) => {
                Some(self.request.arrival_ns.saturating_add(patience_ns))
            }
            _ => None,
        }
    }

    /// Returns the time from the arrival to the first token.
    pub fn ttft(&self) -> Option<Seconds> {
        self.timing().map(|t| span(self.request.arrival_ns, t.first_token_ns.saturating_add(t.api_output_ns)))
    }

    /// Returns the mean time per output token after the first; `None` for a single token.
    pub fn tpot(&self) -> Option<Seconds> {
        let gaps = self.request.output_tokens.checked_sub(1)?;
        let timing = self.timing()?;
        let time = span(timing.first_token_ns, timing.finish_ns);
        (gaps > 0).then(|| Seconds(time.0 / f64::from(gaps)))
    }

    /// Returns the time from the arrival to the last token.
    pub fn e2e(&self) -> Option<Seconds> {
        self.timing().map(|t| span(self.request.arrival_ns, t.finish_ns.saturating_add(t.api_output_ns)))
    }

    /// Returns when the client has the answer of a request that was served or rejected at `finish_ns`: after the delay
    /// in the API server.
    pub(crate) fn answered_ns(&self, finish_ns: u64) -> u64 {
        let delay_ns = self.timing().map_or(0, |timing| timing.api_output_ns);
        finish_ns.saturating_add(delay_ns)
    }

    /// Returns the time in the queue: from arrival at the engine to the first scheduling.
    pub fn queue(&self) -> Option<Seconds> {
        self.timing().map(|t| span(t.at_engine_ns, t.scheduled_ns))
    }

    /// Returns the time in the queue, plus the time between prefill and decode on separate servers.
    pub fn waiting(&self) -> Option<Seconds> {
        let transfer = self.timing()?.kv_transfer;
        let between = transfer.map_or(Seconds::ZERO, |t| span(t.prefilled_ns, t.scheduled_ns));
        Some(self.queue()? + between)
    }
}

/// Returns the time between two points of the integer clock.
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
