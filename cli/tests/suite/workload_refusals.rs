//! Loads that `rooflut run` refuses to generate, in one line each.

use std::fs;

use crate::support::{failure, json};
use serde_json::json;

#[test]
fn flags_that_contradict_or_miss_each_other_are_refused() {
    for (flags, message) in [
        (
            "--burstiness 2",
            "--burstiness needs --arrival gamma; add it",
        ),
        (
            "--burstiness 2 --arrival poisson",
            "--burstiness needs --arrival gamma; add it",
        ),
        (
            "--arrival gamma",
            "--arrival gamma needs --burstiness; add it",
        ),
        (
            "--think-time 3",
            "--think-time needs --users or --turns; add it",
        ),
        ("--turns 3", "--turns needs --think-time or --users; add it"),
        (
            "--trace-format azure",
            "--trace-format needs --trace; add it",
        ),
        ("--where a=b", "--where needs --trace; add it"),
    ] {
        assert_eq!(failure(&format!("run {flags}")), message);
    }
    for (flag, value, other, of_other) in [
        ("--users", "3", "--rate", "2"),
        ("--users", "3", "--arrival", "constant"),
        ("--users", "3", "--burstiness", "2"),
        ("--cached-prompt", "5", "--prefixes", "2x9"),
        ("--cached-prompt", "5", "--turns", "2"),
        ("--trace", "x", "--users", "3"),
        ("--trace", "x", "--turns", "3"),
        ("--trace", "x", "--think-time", "3"),
        ("--trace", "x", "--prefixes", "3x3"),
        ("--trace", "x", "--priorities", "1"),
        ("--trace", "x", "--burstiness", "1"),
    ] {
        let message = failure(&format!("run {flag} {value} {other} {of_other}"));
        assert!(message.contains("cannot be used with"), "{message}");
        assert!(
            message.contains(flag) && message.contains(other),
            "{message}"
        );
    }
}

#[test]
fn values_that_mean_nothing_are_refused() {
    for (flag, value, words) in [
        ("--prompt", "uniform:9..3", "found 9 to 3"),
        (
            "--output",
            "gamma:1,2",
            "expected a whole number of at least 1, uniform:MIN..MAX",
        ),
        ("--turns", "0", "expected a whole number of at least 1"),
        ("--prefixes", "3", "expected GROUPSxTOKENS"),
        (
            "--think-time",
            "-1",
            "think time: expected a finite number of at least 0, found -1",
        ),
        (
            "--think-time",
            "2s",
            "expected SECONDS or exponential:MEAN_SECONDS",
        ),
        ("--priorities", "0.8;0.2", "expected shares with commas"),
        (
            "--priorities",
            "0,0",
            "shares of priorities: expected a positive, finite number",
        ),
        ("--users", "0", "expected a whole number from 1 to 1000000"),
        ("--burstiness", "0", "expected a positive, finite number"),
    ] {
        let message = failure(&format!("run {flag} {value}"));
        assert!(
            message.contains(words) && message.contains(flag),
            "{message}"
        );
    }
    assert_eq!(
        failure("run --prompt uniform:100..900 --cached-prompt 200"),
        "--cached-prompt: expected at most the shortest --prompt, 100, found 200"
    );
}

#[test]
fn a_file_of_lengths_is_read_whole_and_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lengths.txt");
    fs::write(&path, "10\nten\n").expect("a file");
    let name = path.to_str().expect("UTF-8");
    let file = format!("file:{name}");
    assert_eq!(
        failure(&format!("run --prompt {file}")),
        format!(
            "{name}:2: expected LENGTH or LENGTH,WEIGHT, a whole number of at least 1 and a number \
             of at least 0, found \"ten\"; correct it"
        )
    );
    fs::write(&path, "").expect("a file");
    assert_eq!(
        failure(&format!("run --output {file}")),
        format!("{name}: expected a length on each line, found none; write some")
    );
    assert!(failure("run --turns file:no/such --users 1").starts_with("cannot read"));
    fs::write(&path, "10").expect("a file");
    let message = failure(&format!("run --prompt {file} --requests-out {name}"));
    assert!(
        message.contains("is a file of lengths of this run"),
        "{message}"
    );
    let answer = json(&format!("run --requests 3 --prompt {file}"));
    assert_eq!(
        answer["load"]["prompt_tokens"],
        json!({
            "distribution": "file", "path": name, "values": 1, "mean": 10.0, "min": 10, "max": 10
        })
    );
}
