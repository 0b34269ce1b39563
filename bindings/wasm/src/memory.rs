//! Memory for arguments and results.

use std::alloc::{Layout, alloc_zeroed, dealloc};

/// Alignment of all structs of the interface.
const ALIGNMENT: usize = 8;

/// Returns `length` zeros, at a multiple of 8; null if there is no memory for so many.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_allocate(length: usize) -> *mut u8 {
    match layout(length) {
        // SAFETY: the layout has at least one byte.
        Some(layout) => unsafe { alloc_zeroed(layout) },
        None => std::ptr::null_mut(),
    }
}

/// Frees the `length` bytes that [`rooflut_wasm_allocate`] returned.
///
/// # Safety
/// `pointer` was returned for this length and is not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_wasm_free(pointer: *mut u8, length: usize) {
    if let Some(layout) = layout(length) {
        // SAFETY: the caller's promise.
        unsafe { dealloc(pointer, layout) }
    }
}

fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length.max(1), ALIGNMENT).ok()
}
