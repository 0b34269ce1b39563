//! A server that Python drives.

use std::sync::{Mutex, TryLockError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rooflut::deployment::ServedModel;
use rooflut::sim::{Request, RequestId, ServerEvent, StepRecord};

use crate::border::compute;
use crate::error::error;
use crate::event::Event;
use crate::frame::requests;

type Simulated = rooflut::sim::Server<ServedModel>;

/// Simulated time between two looks at the signals: about a millisecond of the clock.
const SLICE_NS: u64 = 10_000_000_000;

/// A server that is driven from outside.
#[pyclass(frozen, module = "rooflut")]
pub(crate) struct Server(Mutex<Simulated>);

impl Server {
    pub(crate) fn new(server: Simulated) -> Server {
        Server(Mutex::new(server))
    }

    /// Uses the server without Python's lock; another thread that uses it is refused meanwhile.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulated) -> T + Send,
    ) -> PyResult<T> {
        let mut server = self.0.try_lock().map_err(|cause| match cause {
            TryLockError::WouldBlock => {
                error("server: in use by another thread; guard it with a lock, or give each thread its own")
            }
            TryLockError::Poisoned(_) => error("server: a call failed inside; create another"),
        })?;
        let server = &mut *server;
        compute(py, || work(server))
    }
}

#[pymethods]
impl Server {
    /// Adds a request and returns its number.
    #[pyo3(signature = (prompt_tokens, output_tokens, *, arrival_ns = None, cached_prompt_tokens = 0, priority = 0))]
    fn push(
        &self,
        py: Python<'_>,
        prompt_tokens: u32,
        output_tokens: u32,
        arrival_ns: Option<u64>,
        cached_prompt_tokens: u32,
        priority: u32,
    ) -> PyResult<usize> {
        let request = Request::new(prompt_tokens, output_tokens)
            .with_cached_prompt_tokens(cached_prompt_tokens)
            .with_priority(priority);
        let pushed = self.with(py, |server| {
            server.push(request.at_ns(arrival_ns.unwrap_or(server.now_ns())))
        })?;
        pushed.map(RequestId::index).map_err(error)
    }

    /// Adds the requests of a frame, and returns the number of the first.
    fn push_all(&self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let requests = requests(frame)?;
        let pushed = self.with(py, |server| {
            let mut first = None;
            for (row, request) in requests.into_iter().enumerate() {
                let id = server
                    .push(request)
                    .map_err(|error| format!("row {row}: {error}; the rows before are pushed"))?;
                first.get_or_insert(id.index());
            }
            Ok::<_, String>(first)
        })?;
        pushed.map_err(error)
    }

    /// Moves the clock and runs all steps that begin before.
    fn advance_to(&self, py: Python<'_>, to_ns: u64) -> PyResult<()> {
        loop {
            // Slices change nothing: a step that ends later stays in flight.
            let now_ns = self.with(py, |server| {
                let next_ns = server.next_event_ns().unwrap_or(to_ns);
                let slice_ns = next_ns.max(server.now_ns()).saturating_add(SLICE_NS);
                server
                    .advance_to(slice_ns.min(to_ns))
                    .map(|()| server.now_ns())
            })?;
            py.check_signals()?;
            if now_ns.map_err(error)? >= to_ns {
                return Ok(());
            }
        }
    }

    /// Runs until the server is idle.
    fn run_until_idle(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |server| server.run_until_idle())?;
        py.check_signals()
    }

    /// Runs one step to its end and returns what happened; `None` if the server is idle.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let outcome = self.with(py, |server| {
            server.step().map(|step| Step {
                record: step.record,
                tokens: step
                    .tokens
                    .iter()
                    .map(|(id, tokens)| (id.index(), *tokens))
                    .collect(),
                preempted: step.preempted.iter().map(|id| id.index()).collect(),
                events: step.events.to_vec(),
            })
        })?;
        outcome.map(|step| step.dict(py)).transpose()
    }

    /// Removes and returns the events since the last call.
    fn drain_events(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        let events: Vec<ServerEvent> = self.with(py, |server| server.drain_events().collect())?;
        events.iter().map(Event::try_new).collect()
    }

    /// Returns counts of all steps that have ended.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = self.with(py, |server| server.totals())?;
        let dict = PyDict::new(py);
        macro_rules! set {
            ($($field:ident)*) => {$(dict.set_item(stringify!($field), totals.$field)?;)*};
        }
        set!(steps busy_ns tokens output_tokens completed rejected truncated preemptions peak_kv_blocks
            cache_lookups cache_hits cache_evictions);
        Ok(dict)
    }

    /// The time to advance to next; `None` if the server is idle.
    #[getter]
    fn next_event_ns(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |server| server.next_event_ns())
    }

    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |server| server.now_ns())
    }

    /// Requests that the engine has not seen yet.
    #[getter]
    fn arriving(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |server| server.arriving())
    }

    #[getter]
    fn waiting(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |server| server.waiting())
    }

    #[getter]
    fn running(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |server| server.running())
    }

    /// Tokens of prompt and output of the requests that have not finished.
    #[getter]
    fn outstanding_tokens(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |server| server.outstanding_tokens())
    }

    #[getter]
    fn kv_blocks_used(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |server| server.kv_blocks_used())
    }

    #[getter]
    fn kv_blocks(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |server| server.kv_blocks())
    }

    #[getter]
    fn is_in_step(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |server| server.is_in_step())
    }

    #[getter]
    fn is_idle(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |server| server.is_idle())
    }

    /// Iterates over the events as they happen, and returns to the event loop after each step.
    fn __aiter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("rooflut._events")?
            .call_method1("events", (slf,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |server| {
            let (now_ns, running, waiting) = (server.now_ns(), server.running(), server.waiting());
            format!("<rooflut.Server at {now_ns} ns, {running} running, {waiting} waiting>")
        })
    }
}

/// The outcome of a step.
struct Step {
    record: StepRecord,
    tokens: Vec<(usize, u32)>,
    preempted: Vec<usize>,
    events: Vec<ServerEvent>,
}

impl Step {
    fn dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let record = self.record;
        let dict = PyDict::new(py);
        macro_rules! set {
            ($($field:ident)*) => {$(dict.set_item(stringify!($field), record.$field)?;)*};
        }
        crate::records::step_fields!(set);
        let events: PyResult<Vec<Event>> = self.events.iter().map(Event::try_new).collect();
        dict.set_item("tokens", self.tokens)?;
        dict.set_item("preempted_requests", self.preempted)?;
        dict.set_item("events", events?)?;
        Ok(dict)
    }
}
