//! What the clock of the simulation can hold.

use rooflut::sim::SimConfig;

/// The latest arrival that the simulator serves.
pub(crate) const LATEST_ARRIVAL_NS: u64 = SimConfig::LAST_ARRIVAL_NS;
/// Of 365 days.
pub(crate) const NANOS_PER_YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
