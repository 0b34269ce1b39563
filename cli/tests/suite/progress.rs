//! Progress: `rooflut run --progress`, and what long searches tell a pipe.
#![allow(clippy::expect_used, reason = "test code outside of test functions")]

use std::io::{BufRead, BufReader};
use std::process::Stdio;

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
    assert!(line.starts_with("7201 of 7201 requests; simulated 360"), "{line}");
    assert!(line.contains(" times as fast as the clock; 0 waiting"), "{line}");
    // Also on several replicas, and for users who wait for their answers.
    let line = last_line("--progress --replicas 3 --requests 50");
    assert!(line.starts_with("50 of 50 requests; simulated "), "{line}");
    let line = last_line("--progress --users 4 --requests 30");
    assert!(line.starts_with("30 of 30 requests; simulated "), "{line}");
    // Without the flag and without a terminal.
    assert_eq!(last_line("--requests 50"), "");
}

#[test]
#[ignore = "slow: takes ten seconds"]
fn a_search_tells_a_pipe_every_ten_seconds_how_far_it_is() {
    // It takes minutes: all of some 180 servers are simulated, as their router compares them.
    let flags = "plan --model qwen3-32b --tp 2 --prompt 1000 --output 1000 --rate 55 --burstiness 0.5 --arrival gamma \
                 --router least-tokens --goodput tpot:15 --max-gpus 2048";
    let mut search = rooflut(flags).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let stderr = BufReader::new(search.stderr.take().expect("a pipe"));
    let first = stderr.lines().next().expect("a line").expect("UTF-8");
    search.kill().expect("it runs");
    search.wait().expect("it ends");
    assert!(first.ends_with(" simulations after 10 s"), "{first}");
}
