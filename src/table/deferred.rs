//! Rows of built-in sets that come after the program.
//!
//! The WebAssembly package cuts the rows of all built-in sets out of the program and writes those of a set back, to their
//! places, when the set is asked for. Until then the set has no tables, and is remembered as wanted: a call after which
//! a set is wanted is repeated with its rows. As the rows are those that were compiled, so is every answer. Only the
//! first is remembered: other sets may be asked for because it has no tables.

use alloc::vec::Vec;

pub use super::presence::{defer_all, set_present, take_wanted};
use super::stored::{StaticSet, StaticTable};
use super::{Index, TableSet};

/// Addresses and lengths in bytes of the arrays of a built-in set: its rows, its shapes and the index of these.
pub fn places(set: &TableSet) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    if let Some(set) = set.compiled() {
        add_set(set, &mut places);
    }
    places.retain(|(_, length)| *length > 0);
    places
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
