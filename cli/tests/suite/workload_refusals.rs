//! Loads that `rooflut run` refuses to generate, in one line each.

use std::fs;

use crate::support::{failure, json};
use serde_json::json;

#[test]
fn flags_that_miss_each_other_or_mean_nothing_are_refused() {
    assert_eq!(
        failure("run --burstiness 2 --arrival poisson"),
        "--burstiness needs --arrival gamma; add it"
    );
    for (flag, value, words) in [
        ("--prompt", "uniform:9..3", "found 9 to 3"),
        (
            "--think-time",
            "-1",
            "think time: expected a finite number of at least 0, found -1",
        ),
        ("--priorities", "0.8;0.2", "expected shares with commas"),
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
