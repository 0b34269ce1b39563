//! Computations without Python's lock, which panics and signals do not escape.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use rooflut_scenario::Stop;

use crate::error::error;

/// Time between two looks at the signals.
const PATIENCE: Duration = Duration::from_millis(50);
/// Stack of a thread, bytes: that of a main thread.
const STACK: usize = 8 << 20;

/// Computes without Python's lock; a panic is an exception.
pub(crate) fn compute<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    done.map_err(|panic| panicked(&*panic))
}

/// Computes on another thread, so that a signal raises its exception at once.
///
/// The work ends at its next look at [`Stop`]; work that does not look ends by itself, and its result is dropped.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Stop) -> Result<T, String> + Send + 'static,
) -> PyResult<T> {
    let stop = Stop::default();
    let (sender, mut receiver) = mpsc::channel();
    let of_thread = stop.clone();
    let run = move || {
        let done = catch_unwind(AssertUnwindSafe(|| work(of_thread)));
        // Without a receiver the work was interrupted.
        let _ = sender.send(done);
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(run);
    thread.map_err(|cause| error(format!("cannot start a thread: {cause}; end other programs")))?;
    loop {
        let received;
        (receiver, received) = py.detach(move || {
            let received = receiver.recv_timeout(PATIENCE);
            (receiver, received)
        });
        match received {
            Ok(Ok(done)) => return done.map_err(error),
            Ok(Err(panic)) => return Err(panicked(&*panic)),
            Err(RecvTimeoutError::Disconnected) => return Err(panicked(&"the thread ended")),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stop.stop())?;
            }
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    error(format!("internal error: {}; report it", message.unwrap_or("a panic without a message")))
}

/// Panics behind the border; for the tests of the package.
#[pyfunction]
#[pyo3(signature = (message, thread = false))]
#[expect(clippy::panic, reason = "the purpose of the function")]
pub(crate) fn _panic(py: Python<'_>, message: String, thread: bool) -> PyResult<()> {
    if thread { interruptible(py, move |_| panic!("{message}")) } else { compute(py, || panic!("{message}")) }
}
