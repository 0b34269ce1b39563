//! Table sets whose rows come later.
//!
//! A set is named by its place among the built-in sets, in order of their names.

use rooflut::table::{TableSet, deferred, sets};

use crate::panic::keep_messages;

/// Prepares a new instance from which the rows of all sets were cut; called once, before any other function.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_start() {
    keep_messages();
    deferred::defer_all();
}

/// Marks a set whose rows were written to their places.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_set_present(place: usize) {
    if let Some(set) = sets::ALL.get(place) {
        deferred::set_present(set.name());
    }
}

/// Returns a bit for each set that was asked for, since the last call, without its rows.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_take_wanted() -> u32 {
    let wanted: Vec<_> = deferred::take_wanted().collect();
    let is_wanted = |set: &&TableSet| wanted.contains(&set.name());
    sets::ALL.into_iter().enumerate().filter(|(_, set)| is_wanted(set)).map(|(place, _)| 1 << place).sum()
}

/// Writes address and length of an array of a set, and returns 1; 0 after the last array. For the build, which cuts
/// them out.
///
/// # Safety
/// `address_and_length` is valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_wasm_set_array(set: usize, array: usize, address_and_length: *mut [usize; 2]) -> u32 {
    let places = sets::ALL.get(set).map(|set| deferred::places(set)).unwrap_or_default();
    match places.get(array) {
        None => 0,
        Some((address, length)) => {
            // SAFETY: the caller's promise.
            unsafe { address_and_length.write([*address, *length]) };
            1
        }
    }
}
