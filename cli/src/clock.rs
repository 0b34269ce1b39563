//! What the clock of the simulation can hold.

use rooflut::sim::SimConfig;

/// The latest arrival that the simulator serves.
pub(crate) const LATEST_ARRIVAL_NS: u64 = SimConfig::LAST_ARRIVAL_NS;
/// The same in milliseconds, rounded down.
pub(crate) const LATEST_ARRIVAL_MS: u64 = LATEST_ARRIVAL_NS / 1_000_000;
/// Of 365 days.
pub(crate) const NANOS_PER_YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
