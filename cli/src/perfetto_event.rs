//! Events of a timeline, as the Chrome trace event format has them.

use rooflut::sim::{Outcome, RequestRecord, StepRecord};
use serde::{Serialize, Serializer};

use crate::requests_out::reason_name;

/// An event. The process is the replica, counted from 1; each has one thread.
#[derive(Serialize)]
pub(crate) struct Event<'e> {
    name: &'e str,
    /// The kind of event.
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

/// Whose event it is.
#[derive(Clone, Copy)]
pub(crate) struct Of {
    /// With the place what tells a request from others: events of the same two belong together.
    pub(crate) category: &'static str,
    pub(crate) replica: u32,
    /// Of the request.
    pub(crate) place: usize,
}

/// What is known of an event.
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
        /// Computed ones, of prompts and of outputs.
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
        Event {
            name,
            ph,
            pid: replica.saturating_add(1),
            tid: 1,
            cat: None,
            id: None,
            ts: None,
            dur: None,
            args: None,
        }
    }

    /// The name of the process or of the thread.
    pub(crate) fn metadata(replica: u32, of: &'static str, name: &'e str) -> Event<'e> {
        Event::new(replica, "M", of).with(Args::Name { name })
    }

    /// A counter has a new value.
    pub(crate) fn counter(
        replica: u32,
        name: &'static str,
        at_ns: u64,
        args: Args<'e>,
    ) -> Event<'e> {
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
            tokens: u64::from(step.prefill_tokens)
                + u64::from(decodes)
                + u64::from(step.drafted_tokens),
            requests: u64::from(chunks) + u64::from(decodes),
            kv_tokens: step.kv_tokens,
            preempted: step.preempted,
        };
        // From one time as it is read to the other, so that no step begins before the last one has ended.
        let end = Micros(step.start_ns.saturating_add(step.duration_ns));
        let dur = end
            .read_ns()
            .saturating_sub(Micros(step.start_ns).read_ns());
        Event {
            dur: Some(Micros(dur)),
            ..Event::new(step.replica, "X", name)
                .at(step.start_ns)
                .with(args)
        }
    }

    /// A request, or a phase of it, begins.
    pub(crate) fn begin(of: Of, name: &'static str, at_ns: u64) -> Event<'e> {
        Event::of(of, "b", name).at(at_ns)
    }

    /// A request, or a phase of it, ends.
    pub(crate) fn end(of: Of, name: &'static str, at_ns: u64) -> Event<'e> {
        Event::of(of, "e", name).at(at_ns)
    }

    /// Something happens to a request.
    pub(crate) fn instant(of: Of, name: &'static str, at_ns: u64, args: Args<'e>) -> Event<'e> {
        Event::of(of, "n", name).at(at_ns).with(args)
    }

    /// The same with these arguments.
    pub(crate) fn with(self, args: Args<'e>) -> Event<'e> {
        let args = Some(args);
        Event { args, ..self }
    }

    fn at(self, at_ns: u64) -> Event<'e> {
        let ts = Some(Micros(at_ns));
        Event { ts, ..self }
    }

    fn of(of: Of, ph: &'static str, name: &'e str) -> Event<'e> {
        Event {
            cat: Some(of.category),
            id: Some(Id(of.place)),
            ..Event::new(of.replica, ph, name)
        }
    }
}

impl Args<'static> {
    /// Of a request.
    pub(crate) fn request(place: usize, record: &RequestRecord) -> Args<'static> {
        let request = &record.request;
        Args::Request {
            request: place,
            prompt_tokens: request.prompt_tokens,
            cached_prompt_tokens: request.cached_prompt_tokens,
            output_tokens: request.output_tokens,
            preemptions: record.timing().map_or(0, |timing| timing.preemptions),
            reason: match &record.outcome {
                Outcome::Rejected(reason) => Some(reason_name(reason)),
                _ => None,
            },
        }
    }
}

/// Nanoseconds, written in microseconds. A float holds them up to 51 days; a year later four of them are one.
struct Micros(u64);

impl Micros {
    /// As it is written.
    fn micros(&self) -> f64 {
        let micros = self.0 as f64 / 1e3;
        // A reader that takes times 1,000 and cuts off gets the same nanoseconds: one less, and a step
        // would overlap the next.
        match ((micros * 1e3) as u64) < self.0 {
            true => micros.next_up(),
            false => micros,
        }
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

/// The place of a request, written as the string that the format asks for.
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
        assert_eq!(
            serde_json::to_string(&Micros(1_234_567)).unwrap(),
            "1234.567"
        );
        assert_eq!(serde_json::to_string(&Micros(0)).unwrap(), "0.0");
        for ns in (0..1_000_000_000_000_000).step_by(999_999_937) {
            for ns in ns..ns + 8 {
                let text = serde_json::to_string(&Micros(ns)).unwrap();
                let micros: f64 = text.parse().unwrap();
                assert_eq!((micros * 1e3) as u64, ns, "{text}");
                assert_eq!((micros * 1e3).round() as u64, ns, "{text}");
            }
        }
    }
}
