//! `rooflut run --scenario`, with files made for a test.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{failure, json};

/// A scenario of this text, and its path.
pub(crate) fn file(text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scenario.toml");
    fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (folder, path)
}

/// The answer to a scenario with these flags.
pub(crate) fn answer(text: &str, flags: &str) -> Value {
    let (_folder, path) = file(text);
    json(&format!("run --scenario {path} {flags}"))
}

/// The line of a scenario that is refused, without its path.
pub(crate) fn refusal(text: &str, flags: &str) -> String {
    let (_folder, path) = file(text);
    let message = failure(&format!("run --scenario {path} {flags}"));
    message.replace(&path, "FILE")
}
