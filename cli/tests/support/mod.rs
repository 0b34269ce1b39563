//! Runs the binary.
#![allow(dead_code, reason = "each test crate uses a part")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails as tests do"
)]

pub(crate) mod imports;
pub(crate) mod made_up;
pub(crate) mod run_files;
pub(crate) mod scenarios;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The binary with these arguments, in the folder of the workspace.
pub(crate) fn rooflut(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rooflut"));
    command.args(arguments).current_dir(workspace());
    command
}

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn output(arguments: &[&str]) -> Output {
    rooflut(arguments).output().expect("the binary starts")
}

/// Standard output of a command that succeeds and says nothing else.
pub(crate) fn success(arguments: &[&str]) -> String {
    let output = output(arguments);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    assert_eq!(stderr, "", "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The JSON that a command answers with.
pub(crate) fn json(arguments: &[&str]) -> Value {
    let text = success(&[arguments, &["--json"]].concat());
    serde_json::from_str(&text).expect("JSON")
}

/// The one line of a command that fails, without `error: `; checks exit code and standard output.
pub(crate) fn failure(arguments: &[&str]) -> String {
    let (text, message) = failure_with_answer(arguments);
    assert_eq!(text, "", "{arguments:?}");
    message
}

/// Standard output of a command that answers and fails, and its one line as `failure` has it.
pub(crate) fn failure_with_answer(arguments: &[&str]) -> (String, String) {
    let output = output(arguments);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    let message = stderr.trim_end().strip_prefix("error: ");
    let message = message.expect("an error").to_owned();
    (String::from_utf8(output.stdout).expect("UTF-8"), message)
}

/// A number of an answer, by its JSON pointer.
pub(crate) fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {value}"))
}

/// A text of an answer, by its JSON pointer.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no text at {pointer} of {value}"))
}

/// The elements of a list of an answer, by its JSON pointer.
pub(crate) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.unwrap_or_else(|| panic!("no list at {pointer} of {value}"))
}
