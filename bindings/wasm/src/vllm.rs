//! Commands of `vllm serve`, read as keys of a scenario.

use std::sync::{Mutex, PoisonError};

use rooflut::engine;
use rooflut_scenario::VllmServe;

/// The last answer.
static ANSWER: Mutex<String> = Mutex::new(String::new());

/// Reads the words after `vllm serve`, UTF-8 with a line break between two, for the default engine. Returns 1 and
/// answers with the tables of a scenario as JSON, or returns 0 and answers with the reason.
///
/// # Safety
/// `words` is valid for reads of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rooflut_wasm_vllm(words: *const u8, length: usize) -> u32 {
    // SAFETY: the caller's promise.
    let words = unsafe { std::slice::from_raw_parts(words, length) };
    let (is_read, text) = match keys(&String::from_utf8_lossy(words)) {
        Ok(keys) => (1, keys),
        Err(reason) => (0, reason),
    };
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = text;
    is_read
}

/// Returns the last answer of [`rooflut_wasm_vllm`]; its length is [`rooflut_wasm_vllm_length`].
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_vllm_answer() -> *const u8 {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Returns the length of the last answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn rooflut_wasm_vllm_length() -> usize {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner).len()
}

fn keys(words: &str) -> Result<String, String> {
    let words: Vec<String> = words.lines().map(str::to_owned).collect();
    let serve = VllmServe::read(&words, &engine::DEFAULT).map_err(|error| error.to_string())?;
    serde_json::to_string(&serve.scenario).map_err(|error| error.to_string())
}
