//! Texts: reports, descriptions, lists of names.

use std::ffi::c_char;

use rooflut_report::Versioned;

use crate::Handle;
use crate::border::call;
use crate::error::{Code, Error, Failure};
use crate::pointer::{Out, OutArray};
use crate::registry::REGISTRY;

/// Returns the version of rooflut, a text that ends with a zero and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Copies a text to `buffer` and writes its length in bytes to `length`. UTF-8; no zero follows.
///
/// With a `capacity` of 0 only the length is written. A text that is longer than `capacity` is not copied, and is an
/// error (`ROOFLUT_CODE_LENGTH`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_text_read(
    text: Handle,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let (buffer, length) =
            unsafe { (OutArray::new(buffer.cast::<u8>(), capacity, "buffer")?, Out::new(length, "length")?) };
        REGISTRY.texts.read(text, |text| {
            if capacity > 0 && capacity < text.len() {
                return Err(Failure::new(
                    Code::Length,
                    format_args!("capacity: expected at least {} bytes, found {capacity}", text.len()),
                ));
            }
            buffer.fill(text.bytes());
            length.set(text.len());
            Ok(())
        })
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}

/// Returns the handle of a report as JSON, as the command line prints it.
pub(crate) fn json(report: &impl serde::Serialize) -> Result<Handle, Failure> {
    let text = Versioned::new(report).to_json();
    REGISTRY.texts.insert(text.map_err(Failure::refused)?)
}

/// Returns the handle of a list of names as JSON.
pub(crate) fn list(names: &[&str]) -> Result<Handle, Failure> {
    let text = serde_json::to_string_pretty(names).map_err(Failure::refused)?;
    REGISTRY.texts.insert(text + "\n")
}

/// Writes the handle that `make` returns to `out`, an argument of this name.
///
/// # Safety
/// `out` and `error` are null or valid for writes.
pub(crate) unsafe fn returning(
    (out, name): (*mut Handle, &str),
    error: *mut Error,
    make: impl FnOnce() -> Result<Handle, Failure>,
) -> u32 {
    let body = || {
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(out, name) }?;
        out.set(make()?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { call(error, body) }
}
