//! Pointers from C, checked for what can be checked.

use std::ffi::c_char;
use std::ptr::NonNull;
use std::slice;

use crate::error::{Code, Failure};

/// Returns the struct that `pointer` points to.
///
/// # Safety
/// `pointer` is null or valid for reads for `'a`.
#[inline]
pub(crate) unsafe fn input<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    let pointer = checked(pointer.cast_mut(), name)?;
    // SAFETY: the caller's promise; it is aligned.
    Ok(unsafe { pointer.as_ref() })
}

/// Returns the array of `length` entries that `pointer` points to; null is an empty one.
///
/// # Safety
/// `pointer` is null or valid for reads of `length` entries for `'a`.
#[inline]
pub(crate) unsafe fn array<'a, T>(pointer: *const T, length: usize, name: &str) -> Result<&'a [T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    let pointer = checked_array(pointer.cast_mut(), length, name)?;
    // SAFETY: the caller's promise; it is aligned and not longer than an object can be.
    Ok(unsafe { slice::from_raw_parts(pointer.as_ptr(), length) })
}

/// Maximum length of a text, bytes.
const MAX_TEXT: usize = 256 << 20;

/// Returns the text of `length` bytes that `pointer` points to.
///
/// # Safety
/// `pointer` is null or valid for reads of `length` bytes for `'a`.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, length: usize, name: &str) -> Result<&'a str, Failure> {
    if length > MAX_TEXT {
        let text = format!("{name}: expected a text of at most 256 MiB, found {length} bytes; check the length");
        return Err(Failure::new(Code::Length, text));
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { array(pointer.cast::<u8>(), length, name) }?;
    str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Failure::new(Code::Utf8, format_args!("{name}: expected UTF-8, found other bytes at {at}; convert it"))
    })
}

/// A place for a result. It is written only by a call that succeeds.
pub(crate) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// # Safety
    /// `pointer` is null, or valid for writes until the result is written.
    #[inline]
    pub(crate) unsafe fn new(pointer: *mut T, name: &str) -> Result<Out<T>, Failure> {
        checked(pointer, name).map(Out)
    }

    #[inline]
    pub(crate) fn set(self, value: T) {
        // SAFETY: the promise at `new`.
        unsafe { self.0.write(value) }
    }
}

/// An array for results.
pub(crate) struct OutArray<T> {
    first: NonNull<T>,
    length: usize,
}

impl<T> OutArray<T> {
    /// # Safety
    /// `pointer` is null, or valid for writes of `length` entries until the results are written.
    pub(crate) unsafe fn new(pointer: *mut T, length: usize, name: &str) -> Result<OutArray<T>, Failure> {
        let first = match length {
            0 => NonNull::dangling(),
            _ => checked_array(pointer, length, name)?,
        };
        Ok(OutArray { first, length })
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Writes values to the array from its start, as many as both have, and returns their number.
    pub(crate) fn fill(&self, values: impl Iterator<Item = T>) -> usize {
        let mut written = 0;
        for value in values.take(self.length) {
            // SAFETY: the promise at `new`; `written` is below the length.
            unsafe { self.first.add(written).write(value) };
            written += 1;
        }
        written
    }
}

#[inline]
fn checked<T>(pointer: *mut T, name: &str) -> Result<NonNull<T>, Failure> {
    match NonNull::new(pointer) {
        Some(found) if pointer.is_aligned() => Ok(found),
        _ => Err(unusable(pointer, name)),
    }
}

fn checked_array<T>(pointer: *mut T, length: usize, name: &str) -> Result<NonNull<T>, Failure> {
    let found = checked(pointer, name)?;
    let bytes = length.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
    match bytes.and_then(|bytes| pointer.addr().checked_add(bytes)) {
        Some(_) => Ok(found),
        None => Err(Failure::new(
            Code::Length,
            format_args!("{name}: expected entries that fit into memory, found {length}"),
        )),
    }
}

#[cold]
fn unusable<T>(pointer: *mut T, name: &str) -> Failure {
    let message = if pointer.is_null() {
        format!("{name}: expected a pointer, found null")
    } else {
        format!("{name}: expected a pointer to a multiple of {} bytes, found {pointer:p}", align_of::<T>())
    };
    Failure::new(Code::Pointer, message)
}
