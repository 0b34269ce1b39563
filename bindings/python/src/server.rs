//! A server that Python drives.

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rooflut::deployment::ServedModel;
use rooflut::sim::{Content, Request, RequestId, ServerError, ServerEvent, StepRecord, StepTimeError};

use crate::arrays::{Numbers, number, whole};
use crate::border::compute;
use crate::error::error;
use crate::event::Event;
use crate::frame::requests;

type Simulated = rooflut::sim::Server<ServedModel>;

/// Simulated time between two looks at the signals: about a millisecond of the clock.
const SLICE_NS: u64 = 10_000_000_000;
/// Events between two looks at the signals.
const SLICE_EVENTS: u32 = 1 << 12;

/// A server of a deployment (``deployment.server()``) that is driven from outside; one thread uses it at a time.
///
/// ``async for event in server`` drives it until it is idle, and runs other tasks between two steps: they may push
/// requests that arrive at the current time or later. A loop that is left early drops the other events of its step.
#[pyclass(frozen, module = "rooflut")]
pub(crate) struct Server(Mutex<Option<Simulated>>);

impl Server {
    pub(crate) fn new(server: Simulated) -> Server {
        Server(Mutex::new(Some(server)))
    }

    /// Locks the server, which is `None` after a panic in one of its calls.
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<Simulated>>> {
        self.0.try_lock().map_err(|cause| match cause {
            TryLockError::WouldBlock => {
                error("server: in use by another thread; guard it with a lock, or give each thread its own")
            }
            TryLockError::Poisoned(_) => broken(),
        })
    }

    /// Uses the server without Python's lock; another thread that uses it is refused meanwhile.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Simulated) -> T + Send) -> PyResult<T> {
        let mut server = self.lock()?;
        used(py, &mut server, work)
    }

    /// Uses the server until a slice of the work says that it was the last, and looks at the signals after each.
    fn in_slices(
        &self,
        py: Python<'_>,
        mut slice: impl FnMut(&mut Simulated) -> Result<bool, ServerError> + Send,
    ) -> PyResult<()> {
        let mut server = self.lock()?;
        loop {
            let is_last = used(py, &mut server, &mut slice)?.map_err(error)?;
            py.check_signals()?;
            if is_last {
                return Ok(());
            }
        }
    }
}

/// Uses a locked server without Python's lock. A panic leaves it in no known state: it is dropped.
fn used<T: Send>(
    py: Python<'_>,
    server: &mut Option<Simulated>,
    work: impl FnOnce(&mut Simulated) -> T + Send,
) -> PyResult<T> {
    let known = server.as_mut().ok_or_else(broken)?;
    let done = compute(py, || work(known));
    if done.is_err() {
        *server = None;
    }
    done
}

fn broken() -> PyErr {
    error("server: a call failed inside; create another")
}

#[pymethods]
impl Server {
    /// Adds a request and returns its number.
    ///
    /// It arrives now unless ``arrival_ns`` says when, in nanoseconds from the start. ``cached_prompt_tokens`` leading
    /// tokens of its prompt are in the prefix cache. Smaller ``priority`` numbers go first on a server with
    /// ``policy="priority"``. Prompts that begin with the same ``block_ids``, each for ``block_tokens`` tokens, share
    /// these tokens in the prefix cache.
    #[pyo3(
        signature = (
            prompt_tokens, output_tokens, *, arrival_ns = None, cached_prompt_tokens = None, priority = None,
            block_ids = None, block_tokens = None
        ),
        text_signature = "($self, prompt_tokens, output_tokens, *, arrival_ns=None, cached_prompt_tokens=0, \
                          priority=0, block_ids=None, block_tokens=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn push(
        &self,
        py: Python<'_>,
        prompt_tokens: &Bound<'_, PyAny>,
        output_tokens: &Bound<'_, PyAny>,
        arrival_ns: Option<&Bound<'_, PyAny>>,
        cached_prompt_tokens: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
        block_ids: Option<&Bound<'_, PyAny>>,
        block_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let or_zero = |name, value: Option<&Bound<'_, PyAny>>| value.map_or(Ok(0), |value| number(name, value, 0));
        let prompt_tokens = number("prompt_tokens", prompt_tokens, 0)?;
        let request = Request::new(prompt_tokens, number("output_tokens", output_tokens, 0)?)
            .with_cached_prompt_tokens(or_zero("cached_prompt_tokens", cached_prompt_tokens)?)
            .with_priority(or_zero("priority", priority)?);
        let arrival_ns = arrival_ns.map(|at_ns| number::<u64>("arrival_ns", at_ns, 0)).transpose()?;
        let (content, ids, block_tokens) = content(block_ids, block_tokens)?;
        let request = request.with_content(content);
        let pushed = self.with(py, |server| {
            let request = request.at_ns(arrival_ns.unwrap_or(server.now_ns()));
            server.push_with_ids(request, &ids, block_tokens)
        })?;
        pushed.map(RequestId::index).map_err(error)
    }

    /// Adds the requests of a frame; returns the number of the first.
    ///
    /// Its columns are ``prompt_tokens``, ``output_tokens`` and, if wanted, ``arrival_ns``, ``cached_prompt_tokens`` and
    /// ``priority``, as of ``push``. Without ``arrival_ns`` they arrive now.
    fn push_all(&self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let now_ns = self.with(py, |server| server.now_ns())?;
        let requests = requests(frame, now_ns)?;
        let pushed = self.with(py, |server| {
            let mut first = None;
            for (row, request) in requests.into_iter().enumerate() {
                let id =
                    server.push(request).map_err(|error| format!("row {row}: {error}; the rows before are pushed"))?;
                first.get_or_insert(id.index());
            }
            Ok::<_, String>(first)
        })?;
        pushed.map_err(error)
    }

    /// Cancels a request, by the number that ``push`` returned: its KV blocks are freed.
    ///
    /// It takes effect at the next step boundary, and at once for a request that is still to arrive; its last event has the
    /// outcome ``cancelled``. A request whose last token comes from the step in flight is served all the same. A number that
    /// was never pushed, has finished or was cancelled is an error.
    fn cancel(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<()> {
        // A number beyond the address space was never pushed.
        let index = usize::try_from(number::<u64>("request", request, 0)?).unwrap_or(usize::MAX);
        let id = RequestId::new(index);
        self.with(py, |server| server.cancel(id))?.map_err(error)
    }

    /// Moves the clock to a time in nanoseconds from the start, and runs all steps that begin before.
    ///
    /// A step that ends later stays in flight. An interrupt stops the server between two steps; the
    /// server can go on from there.
    fn advance_to(&self, py: Python<'_>, to_ns: &Bound<'_, PyAny>) -> PyResult<()> {
        let to_ns = number("to_ns", to_ns, 0)?;
        self.in_slices(py, move |server| {
            // Slices change nothing: a step that ends later stays in flight.
            let next_ns = server.next_event_ns().unwrap_or(to_ns);
            let slice_ns = next_ns.max(server.now_ns()).saturating_add(SLICE_NS);
            server.advance_to(slice_ns.min(to_ns))?;
            Ok(server.now_ns() >= to_ns)
        })
    }

    /// Runs until the server is idle; the clock stands at the end of the last step.
    ///
    /// An interrupt stops the server between two steps; the server can go on from there.
    fn run_until_idle(&self, py: Python<'_>) -> PyResult<()> {
        self.in_slices(py, |server| {
            for _ in 0..SLICE_EVENTS {
                match server.next_event_ns() {
                    Some(at_ns) => server.advance_to(at_ns)?,
                    None => return Ok(true),
                }
            }
            Ok(false)
        })
    }

    /// Runs one step to its end and returns what happened; ``None`` if the server is idle.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let outcome = self
            .with(py, |server| {
                let step = server.step()?;
                Ok::<_, StepTimeError>(step.map(|step| Step {
                    record: step.record,
                    tokens: step.tokens.iter().map(|(id, tokens)| (id.index(), *tokens)).collect(),
                    preempted: step.preempted.iter().map(|id| id.index()).collect(),
                    events: step.events.to_vec(),
                }))
            })?
            .map_err(error)?;
        outcome.map(|step| step.dict(py)).transpose()
    }

    /// Removes and returns the events since the last call, in order.
    fn drain_events(&self, py: Python<'_>) -> PyResult<Vec<Event>> {
        let events: Vec<ServerEvent> = self.with(py, |server| server.drain_events().collect())?;
        events.iter().map(Event::try_new).collect()
    }

    /// Returns a server with the same clock, requests and KV cache, which goes on by itself.
    fn copy(&self, py: Python<'_>) -> PyResult<Server> {
        self.with(py, |server| server.clone()).map(Server::new)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Server> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Server> {
        self.copy(py)
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

    /// The time to advance to next, in nanoseconds; ``None`` if the server is idle.
    #[getter]
    fn next_event_ns(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.with(py, |server| server.next_event_ns())
    }

    /// The current time, in nanoseconds from the start.
    #[getter]
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |server| server.now_ns())
    }

    /// Requests that the engine has not seen yet.
    #[getter]
    fn arriving(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |server| server.arriving())
    }

    /// Requests in the queue.
    #[getter]
    fn waiting(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |server| server.waiting())
    }

    /// Requests that hold a sequence slot.
    #[getter]
    fn running(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |server| server.running())
    }

    /// Tokens of prompt and output of the requests that have not finished.
    #[getter]
    fn outstanding_tokens(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |server| server.outstanding_tokens())
    }

    /// KV blocks in use.
    #[getter]
    fn kv_blocks_used(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |server| server.kv_blocks_used())
    }

    /// KV blocks of the server.
    #[getter]
    fn kv_blocks(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |server| server.kv_blocks())
    }

    /// Whether a step is in flight.
    #[getter]
    fn is_in_step(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |server| server.is_in_step())
    }

    /// Whether all requests have finished.
    #[getter]
    fn is_idle(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |server| server.is_idle())
    }

    /// Iterates over the events as they happen, and returns to the event loop after each step.
    fn __aiter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("rooflut._events")?.call_method1("events", (slf,))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let written = self.with(py, |server| {
            let (now_ns, running, waiting) = (server.now_ns(), server.running(), server.waiting());
            format!("<rooflut.Server at {now_ns} ns, {running} running, {waiting} waiting>")
        });
        // Debuggers and logs of other threads write it, too.
        written.unwrap_or_else(|_| "<rooflut.Server in use>".to_owned())
    }
}

/// Returns the content of a prompt, its ids and the tokens of each.
fn content(
    block_ids: Option<&Bound<'_, PyAny>>,
    block_tokens: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Content, Vec<u64>, u32)> {
    match (block_ids, block_tokens) {
        (None, None) => Ok((Content::Unique, Vec::new(), 0)),
        (Some(_), None) => Err(error("block_ids: expected the tokens of each block beside them; give block_tokens")),
        (None, Some(_)) => {
            Err(error("block_tokens: expected block_ids beside it; give the ids of the prompt's blocks"))
        }
        (Some(ids), Some(tokens)) => {
            let ids = match whole("block_ids", ids, 0)? {
                Numbers::Same(id) => vec![id],
                Numbers::Each(ids) => ids,
            };
            let count = u32::try_from(ids.len()).map_err(|_| error("block_ids: expected fewer than 2^32 ids"))?;
            Ok((Content::TraceBlocks { first: 0, count }, ids, number("block_tokens", tokens, 1)?))
        }
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
