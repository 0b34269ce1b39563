//! Events of a timeline, as the Chrome trace event format has them.

use rooflut::sim::{Outcome, RequestRecord, StepRecord};
use serde::{Serialize, Serializer};

use crate::rejections;

/// An event. The process is the replica, counted from 1; each has one thread.
#[derive(Serialize)]
pub(crate) struct Event<'e> {
    name: &'e str,
    /// Phase: the kind of event.
    ph: &'static str,
    pid: u32,
    tid: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'e>>,
}

/// The request that an event belongs to. Readers join the events of the same category and request.
#[derive(Clone, Copy)]
pub(crate) struct EventId {
    pub(crate) category: &'static str,
    pub(crate) replica: u32,
    /// Index of the request in the load.
    pub(crate) request: usize,
}

/// Details shown with an event.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Args<'e> {
    Name {
        name: &'e str,
    },
    Requests {
        requests: u32,
    },
    Blocks {
        blocks: u32,
    },
    Step {
        /// Prompt and output tokens computed.
        tokens: u64,
        requests: u64,
        kv_tokens: u64,
        #[serde(skip_serializing_if = "is_zero")]
        preempted: u32,
    },
    Request {
        request: usize,
        prompt_tokens: u32,
        cached_prompt_tokens: u32,
        output_tokens: u32,
        #[serde(skip_serializing_if = "is_zero")]
        preemptions: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'static str>,
    },
}

impl<'e> Event<'e> {
    fn new(replica: u32, ph: &'static str, name: &'e str) -> Event<'e> {
        Event { name, ph, pid: replica.saturating_add(1), tid: 1, cat: None, id: None, ts: None, dur: None, args: None }
    }

    /// The name of the process or of the thread.
    pub(crate) fn metadata(replica: u32, of: &'static str, name: &'e str) -> Event<'e> {
        Event::new(replica, "M", of).with(Args::Name { name })
    }

    /// A counter has a new value.
    pub(crate) fn counter(replica: u32, name: &'static str, at_ns: u64, args: Args<'e>) -> Event<'e> {
        Event::new(replica, "C", name).at(at_ns).with(args)
    }

    /// A step from its begin to its end.
    pub(crate) fn step(step: &StepRecord) -> Event<'static> {
        let name = match (step.prefill_chunks, step.decode_requests) {
            (_, 0) => "prefill",
            (0, _) => "decode",
            _ => "mixed",
        };
        let (chunks, decodes) = (step.prefill_chunks, step.decode_requests);
        let args = Args::Step {
            tokens: u64::from(step.prefill_tokens) + u64::from(decodes) + u64::from(step.drafted_tokens),
            requests: u64::from(chunks) + u64::from(decodes),
            kv_tokens: step.kv_tokens,
            preempted: step.preempted,
        };
        // The difference of both times as they are read, so that no step begins before the last one has ended.
        let end = Micros(step.start_ns.saturating_add(step.duration_ns));
        let dur = end.read_ns().saturating_sub(Micros(step.start_ns).read_ns());
        Event { dur: Some(Micros(dur)), ..Event::new(step.replica, "X", name).at(step.start_ns).with(args) }
    }

    /// A request, or a phase of it, begins.
    pub(crate) fn begin(id: EventId, name: &'static str, at_ns: u64) -> Event<'e> {
        Event::of_request(id, "b", name).at(at_ns)
    }

    /// A request, or a phase of it, ends.
    pub(crate) fn end(id: EventId, name: &'static str, at_ns: u64) -> Event<'e> {
        Event::of_request(id, "e", name).at(at_ns)
    }

    /// Something happens to a request.
    pub(crate) fn instant(id: EventId, name: &'static str, at_ns: u64, args: Args<'e>) -> Event<'e> {
        Event::of_request(id, "n", name).at(at_ns).with(args)
    }

    /// Sets the arguments.
    pub(crate) fn with(self, args: Args<'e>) -> Event<'e> {
        let args = Some(args);
        Event { args, ..self }
    }

    fn at(self, at_ns: u64) -> Event<'e> {
        let ts = Some(Micros(at_ns));
        Event { ts, ..self }
    }

    fn of_request(id: EventId, ph: &'static str, name: &'e str) -> Event<'e> {
        Event { cat: Some(id.category), id: Some(Id(id.request)), ..Event::new(id.replica, ph, name) }
    }
}

impl Args<'static> {
    /// Arguments of a request.
    pub(crate) fn request(request: usize, record: &RequestRecord) -> Args<'static> {
        let RequestRecord { request: given, .. } = record;
        Args::Request {
            request,
            prompt_tokens: given.prompt_tokens,
            cached_prompt_tokens: given.cached_prompt_tokens,
            output_tokens: given.output_tokens,
            preemptions: record.timing().map_or(0, |timing| timing.preemptions),
            reason: match &record.outcome {
                Outcome::Rejected(reason) => Some(rejections::name(reason)),
                _ => None,
            },
        }
    }
}

/// Nanoseconds, written in microseconds. A float holds them up to 51 days; a year later four of them are one.
struct Micros(u64);

impl Micros {
    /// The number written.
    fn micros(&self) -> f64 {
        let micros = self.0 as f64 / 1e3;
        // A reader that multiplies by 1,000 and truncates gets the same nanoseconds: one less, and a step
        // would overlap the next.
        if ((micros * 1e3) as u64) < self.0 { micros.next_up() } else { micros }
    }

    /// The nanoseconds that a reader finds.
    fn read_ns(&self) -> u64 {
        (self.micros() * 1e3) as u64
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.micros())
    }
}

/// The index of a request, written as the string that the format asks for.
struct Id(usize);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_microseconds_and_nanoseconds_come_back_however_one_rounds() {
        assert_eq!(serde_json::to_string(&Micros(1_234_567)).unwrap(), "1234.567");
        assert_eq!(serde_json::to_string(&Micros(0)).unwrap(), "0.0");
        for ns in (0..1_000_000_000_000_000).step_by(9_999_999_937) {
            for ns in ns..ns + 8 {
                let text = serde_json::to_string(&Micros(ns)).unwrap();
                let micros: f64 = text.parse().unwrap();
                assert_eq!((micros * 1e3) as u64, ns, "{text}");
                assert_eq!((micros * 1e3).round() as u64, ns, "{text}");
            }
        }
    }
}
