//! Stops: calls that end early.

use rooflut_scenario::Stop;

use crate::Handle;
use crate::border::call;
use crate::error::{Code, Error, Failure};
use crate::registry::REGISTRY;
use crate::text::returning;

/// Makes a stop. Another thread can use the stop to end runs and searches early.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_stop_new(stop: *mut Handle, error: *mut Error) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { returning((stop, "stop"), error, || REGISTRY.stops.insert(Stop::default())) }
}

/// Ends the calls that were given a stop, and later ones at once: they fail with `ROOFLUT_CODE_STOPPED`. Does nothing
/// more when it is called again.
///
/// A simulation ends in its midst. What comes before it is not interrupted: a trace that is read, a load that a plan
/// generates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_stop(stop: Handle, error: *mut Error) -> u32 {
    let body = || {
        REGISTRY.stops.read(stop, |stop| {
            stop.stop();
            Ok(())
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

/// Works until the end, or until the stop of a handle ends it; 0 is one that nothing ends.
pub(crate) fn until<T>(stop: Handle, work: impl FnOnce(Stop) -> Result<T, Failure>) -> Result<T, Failure> {
    let stop = match stop {
        0 => Stop::default(),
        given => REGISTRY.stops.read(given, |stop| Ok(stop.clone()))?,
    };
    if stop.is_stopped() {
        return Err(stopped());
    }
    match work(stop.clone()) {
        Err(_) if stop.is_stopped() => Err(stopped()),
        done => done,
    }
}

#[cold]
fn stopped() -> Failure {
    Failure::new(Code::Stopped, "stopped before its end; call it again")
}
