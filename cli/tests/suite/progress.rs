//! `rooflut run --progress`.
#![allow(clippy::expect_used, reason = "test code outside of test functions")]

use crate::support::rooflut;

/// The last line on standard error.
fn last_line(flags: &str) -> String {
    let output = rooflut(&format!("run {flags}")).output().expect("it starts");
    assert!(output.status.success());
    let lines = String::from_utf8(output.stderr).expect("UTF-8");
    lines.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn it_tells_simulated_time_and_what_is_done_on_standard_error() {
    let line = last_line("--progress --arrival constant --rate 2 --requests 7201");
    // An hour of arrivals, and the last answer.
    assert!(line.starts_with("7,201 of 7,201 requests; simulated 3,60"), "{line}");
    assert!(line.contains(" times as fast as the clock; 0 waiting"), "{line}");
    // Also on several replicas, and for users who wait for their answers.
    let line = last_line("--progress --replicas 3 --requests 50");
    assert!(line.starts_with("50 of 50 requests; simulated "), "{line}");
    let line = last_line("--progress --users 4 --requests 30");
    assert!(line.starts_with("30 of 30 requests; simulated "), "{line}");
    // Without the flag and without a terminal.
    assert_eq!(last_line("--requests 50"), "");
}
