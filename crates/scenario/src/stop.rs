//! Runs that end early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rooflut::sim::Observer;

use crate::run_error::RunError;

/// Ends runs early, from any thread. Clones stop together.
///
/// A [`Run`](crate::Run) that it [stops](crate::Run::stopped_by) ends in the midst of its simulation.
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

/// Ends the simulation that it observes.
impl Observer for Stop {
    fn wants_more(&self) -> bool {
        !self.is_stopped()
    }
}
