//! The clock of a simulation, in whole nanoseconds.

use crate::units::Seconds;

/// Returns the time `time` after `at_ns`; `None` if `time` is negative, infinite or NaN, or the clock ends before.
#[inline]
pub(super) fn after(at_ns: u64, time: Seconds) -> Option<u64> {
    let ns = at_ns.saturating_add(time.to_nanos());
    // The last nanosecond stands for all times beyond.
    (time.0 >= 0.0 && ns < u64::MAX).then_some(ns)
}

/// Returns the end of a step that begins at `start_ns` and takes `time`, at least a nanosecond; `None` as
/// [`after`].
#[inline]
pub(super) fn end_of_step(start_ns: u64, time: Seconds) -> Option<u64> {
    Some(after(start_ns, time)?.max(start_ns + 1))
}
