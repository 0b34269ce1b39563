//! The message of a panic, which ends the instance.

use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

/// The message of the last panic.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// Keeps messages of panics from now on.
pub(crate) fn keep_messages() {
    panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let mut message = MESSAGE.lock().unwrap_or_else(PoisonError::into_inner);
        *message = info.to_string();
    }));
}

/// Returns the message of the panic that ended the instance; its length is [`rooflut_wasm_panic_length`].
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_panic_message() -> *const u8 {
    MESSAGE.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Returns the length of the message in bytes; 0 if nothing panicked.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_panic_length() -> usize {
    MESSAGE.lock().unwrap_or_else(PoisonError::into_inner).len()
}
