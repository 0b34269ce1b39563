//! Runs that end early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::run_error::RunError;

/// Ends runs early, from any thread. Clones stop together.
///
/// A [`Run`](crate::Run) looks at it before each of its simulations, a search or a sweep before each of its runs; a
/// simulation that has begun goes on to its end, unless its observer ends it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Stops all runs that look at this or at a clone of it.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether runs are to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns whether runs may go on.
    ///
    /// # Errors
    /// [`RunError::Stopped`].
    pub fn check(&self) -> Result<(), RunError> {
        match self.is_stopped() {
            true => Err(RunError::Stopped),
            false => Ok(()),
        }
    }
}
