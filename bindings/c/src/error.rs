//! Errors as C sees them: a code and a message.

use std::ffi::c_char;
use std::fmt::{self, Display};

/// Bytes of a message, with its final zero.
const MESSAGE_BYTES: usize = 1020;

/// The kind of an error; 0 is success.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Success.
    Ok = 0,
    /// A pointer is null or not aligned.
    Pointer = 1,
    /// A handle was never returned, was freed, or is of another kind.
    Handle = 2,
    /// The object is in use by another thread.
    Busy = 3,
    /// A length contradicts another or is too large.
    Length = 4,
    /// A number is out of range.
    Value = 5,
    /// A text is not UTF-8.
    Utf8 = 6,
    /// The library rejects the input; the message says why.
    Refused = 7,
    /// All slots of the registry are taken.
    Full = 8,
    /// The library panicked; the message says where. The process continues.
    Panic = 9,
    /// Another thread called `rooflut_stop`.
    Stopped = 10,
    /// The time predicted for a step is negative, infinite or no number, or the step ends after the clock; the message
    /// names the step. A server runs no further one.
    StepTime = 11,
}

/// The error of a call. The caller provides it, or null to do without the message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Error {
    /// A `RooflutCode`.
    pub code: u32,
    /// The cause, the expected input and a remedy: UTF-8 that ends with a zero. Written by failures only.
    pub message: [c_char; 1020],
}

impl Error {
    /// No error.
    pub const NONE: Error = Error { code: Code::Ok as u32, message: [0; MESSAGE_BYTES] };

    /// Returns the message.
    pub fn message(&self) -> String {
        let bytes = self.message.iter().map(|byte| *byte as u8);
        let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Why a call failed. It is as small as a pointer, so that successes are returned in registers.
#[derive(Debug)]
pub(crate) struct Failure(Box<Cause>);

#[derive(Debug)]
struct Cause {
    code: Code,
    message: String,
}

impl Failure {
    #[cold]
    pub(crate) fn new(code: Code, message: impl Display) -> Failure {
        let message = message.to_string();
        Failure(Box::new(Cause { code, message }))
    }

    pub(crate) fn code(&self) -> Code {
        self.0.code
    }

    /// The library rejects the input.
    #[cold]
    pub(crate) fn refused(message: impl Display) -> Failure {
        Failure::new(Code::Refused, message)
    }

    /// A field has another value than expected.
    #[cold]
    pub(crate) fn value(field: impl Display, expected: impl Display, found: impl Display) -> Failure {
        Failure::new(Code::Value, format_args!("{field}: expected {expected}, found {found}"))
    }

    /// Returns the failure as C sees it: its message without zeros, cut to whole characters where it is too long.
    pub(crate) fn error(&self) -> Error {
        let mut error = Error { code: self.0.code as u32, ..Error::NONE };
        let ends = self.0.message.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = ends.take_while(|end| *end < MESSAGE_BYTES).last();
        let bytes = self.0.message.bytes().take(end.unwrap_or(0));
        for (place, byte) in error.message.iter_mut().zip(bytes) {
            *place = if byte == 0 { b' ' } else { byte } as c_char;
        }
        error
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        let failure = Failure::refused("é".repeat(MESSAGE_BYTES));
        let message = failure.error().message();
        assert_eq!(message, "é".repeat((MESSAGE_BYTES - 1) / 2));
    }
}
