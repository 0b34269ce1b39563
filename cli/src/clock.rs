//! What the clock of the simulation can hold.

/// The latest arrival: half of what 64 bits of nanoseconds can count (292 years), so that the time that
/// the requests take fits behind it.
pub(crate) const LATEST_ARRIVAL_NS: u64 = u64::MAX / 2;
/// The same in milliseconds, rounded down.
pub(crate) const LATEST_ARRIVAL_MS: u64 = LATEST_ARRIVAL_NS / 1_000_000;
/// Of 365 days.
pub(crate) const NANOS_PER_YEAR: u64 = 365 * 24 * 3600 * 1_000_000_000;
