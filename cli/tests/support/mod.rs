//! Runs the binary.
#![allow(dead_code, reason = "each test crate uses a part")]
#![allow(clippy::expect_used, clippy::panic, reason = "a helper of tests fails as tests do")]

#[cfg(target_os = "linux")]
pub(crate) mod disk;
#[cfg(unix)]
pub(crate) mod documents;
pub(crate) mod own_tables;
#[cfg(target_os = "linux")]
pub(crate) mod pages;
pub(crate) mod run_files;
pub(crate) mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The config.json of Llama 3.1 8B.
pub(crate) const LLAMA: &str = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
    "vocab_size": 128256, "max_position_embeddings": 131072}"#;

/// The binary with the arguments of a command line, in the folder of the workspace. A word in single quotes may have
/// spaces.
pub(crate) fn rooflut(line: &str) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    for (part, quoted) in line.split('\'').zip([false, true].into_iter().cycle()) {
        if quoted {
            command.arg(part)
        } else {
            command.args(part.split_whitespace())
        };
    }
    // Phrases that tests look for are on one line.
    command.env("COLUMNS", "96").current_dir(workspace());
    command
}

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let mut above =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().filter(|folder| folder.join("bench_data").is_dir());
    above.next().expect("the workspace").to_owned()
}

/// Returns commands with those of a folder in front of the others that are installed.
pub(crate) fn with_program(folder: &Path) -> String {
    let installed = std::env::var("PATH").unwrap_or_default();
    format!("{}:{installed}", folder.display())
}

fn output(line: &str) -> Output {
    rooflut(line).output().expect("the binary starts")
}

/// Standard error without progress, which only a slow machine sees.
fn said(output: &Output) -> String {
    without_progress(str::from_utf8(&output.stderr).expect("UTF-8"))
}

/// Standard output of a command that succeeds and says nothing else.
pub(crate) fn success(line: &str) -> String {
    let output = output(line);
    let stderr = said(&output);
    assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
    assert_eq!(stderr, "", "{line}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The JSON that a command answers with.
pub(crate) fn json(line: &str) -> Value {
    let text = success(&format!("{line} --json"));
    serde_json::from_str(&text).expect("JSON")
}

/// The JSON of the `rooflut run` command that an answer has.
pub(crate) fn command(answer: &Value) -> Value {
    json(text(answer, "/command").strip_prefix("rooflut ").expect("a command of rooflut"))
}

/// The one line of a command that fails, without `error: `; checks exit code and standard output.
pub(crate) fn failure(line: &str) -> String {
    let (text, message) = failure_with_answer(line);
    assert_eq!(text, "", "{line}");
    message
}

/// Standard output of a command that answers and fails, and its one line as `failure` has it.
pub(crate) fn failure_with_answer(line: &str) -> (String, String) {
    let output = output(line);
    let stderr = said(&output);
    assert!(matches!(output.status.code(), Some(1..=4)), "{line}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{line}: {stderr}");
    let message = stderr.trim_end().strip_prefix("error: ").expect("an error").to_owned();
    (String::from_utf8(output.stdout).expect("UTF-8"), message)
}

/// Standard output of a command as `success` has it, with a space in place of each line break.
pub(crate) fn unwrapped(line: &str) -> String {
    let text = success(line);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The path of a file that is not there, in a folder that goes with the first value.
pub(crate) fn new_path(name: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name).to_str().expect("UTF-8").to_owned();
    (folder, path)
}

/// The path of a file, in a folder that goes with the first value.
pub(crate) fn file(name: &str, text: impl AsRef<[u8]>) -> (TempDir, String) {
    let (folder, path) = new_path(name);
    fs::write(&path, text).expect("a file");
    (folder, path)
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

/// Standard error without the lines that tell every ten seconds how far a command is: `22 simulations after 10 s`.
pub(crate) fn without_progress(stderr: &str) -> String {
    let is_progress = |line: &str| line.contains(" after ") && line.trim_end().ends_with(" s");
    let lines = stderr.split_inclusive('\n');
    lines.filter(|line| !is_progress(line)).collect()
}
