//! Runs that end early, and how many there were.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rooflut::sim::Observer;
use rooflut_error::{Error, Kind};

/// Ends runs early, from any thread, and counts their simulations. Clones stop and count together.
///
/// A [stopped](crate::Run::stopped_by) [`Run`](crate::Run) ends in the midst of its simulation.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_stopped: AtomicBool,
    simulations: AtomicU64,
}

impl Stop {
    /// Stops all runs that watch this stop or a clone of it.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether runs are to stop.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::Relaxed)
    }

    /// Returns the number of simulations that ended: how far a search is.
    pub fn simulations(&self) -> u64 {
        self.0.simulations.load(Ordering::Relaxed)
    }

    /// Counts a simulation.
    pub(crate) fn count(&self) {
        self.0.simulations.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether runs may go on.
    ///
    /// # Errors
    /// [`Kind::Stopped`].
    pub fn check(&self) -> Result<(), Error> {
        let stopped = || Error::new(Kind::Stopped, "stopped before its end; run it again");
        if self.is_stopped() { Err(stopped()) } else { Ok(()) }
    }
}

/// Ends the simulation that it observes.
impl Observer for Stop {
    fn wants_more(&self) -> bool {
        !self.is_stopped()
    }
}
