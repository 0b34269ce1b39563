//! The prefill result of a request, and the record of both stages.

use crate::sim::{KvTransfer, Outcome, Request, RequestRecord, Timing};

/// The prefill result of a request: what its decode server does not know. The rest is not kept twice, as under
/// overload most requests may be waiting there.
#[derive(Debug)]
pub(super) struct Prefilled {
    arrival_ns: u64,
    at_engine_ns: u64,
    scheduled_ns: u64,
    pub(super) prefilled_ns: u64,
    cached_prompt_tokens: u32,
    cached_tokens: u32,
    preemptions: u32,
    pub(super) replica: u32,
}

impl Prefilled {
    /// Returns the result of a request that the prefill server served in these times.
    pub(super) fn of(request: &Request, timing: &Timing) -> Prefilled {
        Prefilled {
            arrival_ns: request.arrival_ns,
            at_engine_ns: timing.at_engine_ns,
            scheduled_ns: timing.scheduled_ns,
            prefilled_ns: timing.finish_ns,
            cached_prompt_tokens: request.cached_prompt_tokens,
            cached_tokens: timing.cached_tokens,
            preemptions: timing.preemptions,
            replica: timing.replica,
        }
    }

    /// Returns the whole request, given that of the decode server.
    pub(super) fn request(&self, decode: Request) -> Request {
        Request { arrival_ns: self.arrival_ns, cached_prompt_tokens: self.cached_prompt_tokens, ..decode }
    }

    /// Returns the record of the whole request, given that of the decode server.
    pub(super) fn record(self, decode: &RequestRecord) -> RequestRecord {
        let request = self.request(decode.request);
        let delivered_ns = decode.request.arrival_ns;
        let outcome = match decode.outcome {
            Outcome::Completed(timing) => Outcome::Completed(self.timing(timing, delivered_ns)),
            rejected @ Outcome::Rejected(_) => rejected,
        };
        RequestRecord::new(request, outcome)
    }

    /// Returns the times of the whole request, given those on the decode server.
    fn timing(self, decode: Timing, delivered_ns: u64) -> Timing {
        Timing {
            at_engine_ns: self.at_engine_ns,
            scheduled_ns: self.scheduled_ns,
            preemptions: self.preemptions + decode.preemptions,
            cached_tokens: self.cached_tokens,
            kv_transfer: Some(KvTransfer {
                prefill_replica: self.replica,
                prefilled_ns: self.prefilled_ns,
                delivered_ns,
                scheduled_ns: decode.scheduled_ns,
            }),
            ..decode
        }
    }
}

impl RequestRecord {
    /// Returns the record of a request from those of its prefill and its decode server, as
    /// [`Disaggregated`](super::Disaggregated) has it: TTFT and E2E count from the arrival at the prefill server. The
    /// arrival of `self`, the record of the decode server, is the delivery of the KV entries. A request that the prefill
    /// server did not serve has its record.
    #[must_use]
    pub fn after_prefill(&self, prefill: &RequestRecord) -> RequestRecord {
        let served = prefill.timing();
        served.map_or(*prefill, |timing| Prefilled::of(&prefill.request, timing).record(self))
    }
}
