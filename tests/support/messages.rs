//! Pages that list inputs, and below each, indented, what is said about it.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{env, fs};

/// Compares the page at `path` with the messages that `messages_of` returns about each line after the title; writes it
/// again if `ROOFLUT_ACCEPT` is 1.
pub(crate) fn replay(path: &str, mut messages_of: impl FnMut(&str) -> Vec<String>) {
    let listed = fs::read_to_string(path).unwrap();
    let (title, cases) = listed.split_once('\n').unwrap();
    let mut found = format!("{title}\n");
    for line in cases.lines().filter(|line| !line.starts_with("    ")) {
        found += &format!("{line}\n");
        for message in messages_of(line) {
            assert!(!message.contains(char::is_control), "{message:?}");
            found += &format!("    {message}\n");
        }
    }
    if env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1") {
        fs::write(path, &found).unwrap();
    } else {
        let mut lines = listed.lines().zip(found.lines());
        let differs = lines.find(|(listed, found)| listed != found);
        assert!(listed == found, "{differs:#?}");
    }
}
