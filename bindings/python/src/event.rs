//! Events of a server.

use std::borrow::Cow;

use pyo3::prelude::*;
use rooflut::sim::{RequestRecord, ServerEvent};
use rooflut_report::outcome_name;

use crate::error::error;

/// An event in the life of a request.
#[pyclass(frozen, get_all, module = "rooflut")]
#[derive(Clone)]
pub(crate) struct Event {
    /// ``first_token`` or ``finished``.
    kind: Cow<'static, str>,
    /// The number that ``push`` returned.
    request: usize,
    /// Time in nanoseconds.
    at_ns: u64,
    /// ``completed``, ``cancelled``, or why the finished request was rejected.
    outcome: Option<Cow<'static, str>>,
    /// Time in the queue, seconds.
    queue_s: Option<f64>,
    /// Time to first token, seconds.
    ttft_s: Option<f64>,
    /// Time per output token after the first, seconds.
    tpot_s: Option<f64>,
    /// Time to the last token, seconds.
    e2e_s: Option<f64>,
    /// Number of preemptions of the finished request.
    preemptions: u32,
}

impl Event {
    pub(crate) fn try_new(event: &ServerEvent) -> PyResult<Event> {
        let (id, at_ns, record) = match event {
            ServerEvent::FirstToken { id, at_ns } => (id, *at_ns, None),
            ServerEvent::Finished { id, at_ns, record } => (id, *at_ns, Some(record)),
            other => {
                return Err(error(format!("internal error: unknown event {other:?}; report it")));
            }
        };
        let time = |of: fn(&RequestRecord) -> Option<rooflut::units::Seconds>| Some(of(record?)?.0);
        let timing = record.and_then(RequestRecord::timing);
        Ok(Event {
            kind: event.name().into(),
            request: id.index(),
            at_ns,
            outcome: record.map(|record| outcome_name(&record.outcome).into()),
            queue_s: time(RequestRecord::queue),
            ttft_s: time(RequestRecord::ttft),
            tpot_s: time(RequestRecord::tpot),
            e2e_s: time(RequestRecord::e2e),
            preemptions: timing.map_or(0, |timing| timing.preemptions),
        })
    }
}

/// The fields of an event in their order, by which it is pickled.
type Fields = (String, usize, u64, Option<String>, Option<f64>, Option<f64>, Option<f64>, Option<f64>, u32);

/// Returns the event with these fields, from which it was pickled.
#[pyfunction]
pub(crate) fn _event(fields: Fields) -> Event {
    let (kind, request, at_ns, outcome, queue_s, ttft_s, tpot_s, e2e_s, preemptions) = fields;
    let (kind, outcome) = (kind.into(), outcome.map(Cow::from));
    Event { kind, request, at_ns, outcome, queue_s, ttft_s, tpot_s, e2e_s, preemptions }
}

#[pymethods]
impl Event {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Fields,))> {
        let Event { kind, request, at_ns, outcome, queue_s, ttft_s, tpot_s, e2e_s, preemptions } = self.clone();
        let (kind, outcome) = (kind.into_owned(), outcome.map(Cow::into_owned));
        let fields = (kind, request, at_ns, outcome, queue_s, ttft_s, tpot_s, e2e_s, preemptions);
        Ok((py.import("rooflut._rooflut")?.getattr("_event")?, (fields,)))
    }

    fn __repr__(&self) -> String {
        let outcome = self.outcome.as_ref().map_or(String::new(), |outcome| format!(", {outcome}"));
        format!("<rooflut.Event {} of request {} at {} ns{outcome}>", self.kind, self.request, self.at_ns)
    }
}
