//! Table sets whose rows come later.
//!
//! A set is named by its place among the built-in sets, in order of their names.

use rooflut::table::{deferred, sets};

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

/// Returns the place of the set that was asked for first, since the last call, without its rows; -1 if none was.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_take_wanted() -> i32 {
    deferred::take_wanted().map_or(-1, |place| place as i32)
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
