//! Files in memory.

use std::path::PathBuf;

/// Keeps the contents of a file: calls that name its path read them.
///
/// # Safety
/// Both pointers are valid for reads of their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_wasm_keep_file(
    path: *const u8,
    path_length: usize,
    contents: *const u8,
    contents_length: usize,
) {
    // SAFETY: the caller's promise.
    let (path, contents) = unsafe {
        (std::slice::from_raw_parts(path, path_length), std::slice::from_raw_parts(contents, contents_length))
    };
    rooflut_c::keep_file(PathBuf::from(&*String::from_utf8_lossy(path)), contents.into());
}
