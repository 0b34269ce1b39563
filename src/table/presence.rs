//! The built-in sets whose rows are in their places.

use core::sync::atomic::{AtomicU32, Ordering};

use super::sets;

/// A bit for each of [`sets::ALL`] whose rows are not in their places.
static ABSENT: AtomicU32 = AtomicU32::new(0);
/// The bit of the first absent set that was asked for, 0 if none was.
static WANTED: AtomicU32 = AtomicU32::new(0);

/// Marks all built-in sets as without rows. Without this call all have them.
pub fn defer_all() {
    ABSENT.store(u32::MAX, Ordering::Relaxed);
}

/// Marks a built-in set whose rows are in their places; returns whether there is such a set.
pub fn set_present(name: &str) -> bool {
    ABSENT.fetch_and(!bit(name), Ordering::Relaxed);
    bit(name) != 0
}

/// Returns the set without rows that was asked for first since the last call, as its place in [`sets::ALL`].
pub fn take_wanted() -> Option<usize> {
    let wanted = WANTED.swap(0, Ordering::Relaxed);
    (wanted != 0).then_some(wanted.trailing_zeros() as usize)
}

/// Whether the rows of a compiled set are in their places. The first absent set that is asked for is recorded as wanted.
pub(super) fn is_present(name: &str) -> bool {
    let absent = bit(name) & ABSENT.load(Ordering::Relaxed);
    if absent != 0 {
        let _ = WANTED.compare_exchange(0, absent, Ordering::Relaxed, Ordering::Relaxed);
    }
    absent == 0
}

const _: () = assert!(sets::ALL.len() <= 32, "a set has a bit");

/// The bit of a built-in set, 0 for a set that a program compiled in itself.
fn bit(name: &str) -> u32 {
    let place = sets::ALL.into_iter().position(|set| set.name() == name);
    place.map_or(0, |place| 1 << place)
}
