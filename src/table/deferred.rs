//! Rows of built-in sets that come after the program.
//!
//! The WebAssembly package cuts the rows of all built-in sets out of the program and writes those of a set back, to their
//! places, when the set is asked for. Until then the set has no tables, and is remembered as wanted: a call after which
//! a set is wanted is repeated with its rows. As the rows are those that were compiled, so is every answer. Only the
//! first is remembered: other sets may be asked for because it has no tables.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use super::stored::{StaticSet, StaticTable};
use super::{Index, TableSet, sets};

/// A bit for each of [`sets::ALL`] whose rows are not in their places.
static ABSENT: AtomicU32 = AtomicU32::new(0);
/// The first of them that was asked for, 0 if none was.
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

/// Addresses and lengths in bytes of the arrays of a built-in set: its rows, its shapes and the index of these.
pub fn places(set: &TableSet) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    if let Some(set) = set.compiled() {
        add_set(set, &mut places);
    }
    places.retain(|(_, length)| *length > 0);
    places
}

/// Returns the set without rows that was asked for first since the last call, as its place in [`sets::ALL`].
pub fn take_wanted() -> Option<usize> {
    let wanted = WANTED.swap(0, Ordering::Relaxed);
    (wanted != 0).then_some(wanted.trailing_zeros() as usize)
}

/// Whether the rows of a compiled set are in their places; a built-in set whose rows are not is wanted from now on, unless another is.
pub(super) fn is_present(name: &str) -> bool {
    let absent = bit(name) & ABSENT.load(Ordering::Relaxed);
    if absent != 0 {
        let _ = WANTED.compare_exchange(0, absent, Ordering::Relaxed, Ordering::Relaxed);
    }
    absent == 0
}

/// The bit of a built-in set, 0 for a set that a program compiled in itself.
fn bit(name: &str) -> u32 {
    let place = sets::ALL.into_iter().position(|set| set.name() == name);
    place.map_or(0, |place| 1 << place)
}

fn add_set(set: &StaticSet, places: &mut Vec<(usize, usize)>) {
    places.extend([place(set.axis_values), place(set.axis_points)]);
    for StaticTable { head, shapes, entries, latency_us, ln_slowdown } in set.tables {
        places.extend([place(shapes), place(entries), place(latency_us), place(ln_slowdown)]);
        if let Index::Hashed(map) = &head.index {
            places.extend([place(map.disps), place(map.entries)]);
        }
    }
    for (_, version) in set.versions {
        add_set(version, places);
    }
}

fn place<T>(array: &[T]) -> (usize, usize) {
    (array.as_ptr().addr(), size_of_val(array))
}
