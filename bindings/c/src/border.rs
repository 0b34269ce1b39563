//! Calls from C.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Code, Error, Failure};

/// Runs `body`, turns a panic into an error, writes the error to `error` unless it is null, and returns its code.
///
/// # Safety
/// `error` is null or valid for writes.
#[inline]
pub(crate) unsafe fn call(error: *mut Error, body: impl FnOnce() -> Result<(), Failure>) -> u32 {
    // A panic poisons the lock of the object that it was changing, so that its state is not used again.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Code::Ok as u32,
        // SAFETY: the caller's promise.
        Ok(Err(failure)) => unsafe { fail(error, &failure) },
        // SAFETY: the caller's promise.
        Err(payload) => unsafe { fail(error, &panicked(payload.as_ref())) },
    }
}

/// # Safety
/// `error` is null or valid for writes.
#[cold]
unsafe fn fail(error: *mut Error, failure: &Failure) -> u32 {
    if !error.is_null() && error.is_aligned() {
        // SAFETY: the caller's promise.
        unsafe { error.write(failure.error()) };
    }
    failure.code() as u32
}

fn panicked(payload: &(dyn Any + Send)) -> Failure {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    Failure::new(Code::Panic, format_args!("a defect of rooflut: {text}; report it with the input"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let mut error = Error::NONE;
        // SAFETY: a reference is valid for writes.
        let code = unsafe { call(&raw mut error, || panic!("no {}", "row")) };
        assert_eq!((code, error.code), (Code::Panic as u32, code));
        let expected = "a defect of rooflut: no row; report it with the input";
        assert_eq!(error.message(), expected);
        // SAFETY: null.
        let code = unsafe { call(std::ptr::null_mut(), || panic!("without an error")) };
        assert_eq!(code, Code::Panic as u32);
    }
}
