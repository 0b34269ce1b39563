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
fn a_file_of_lengths_is_reported_with_its_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lengths.txt");
    let name = path.to_str().expect("UTF-8");
    let file = format!("file:{name}");
    fs::write(&path, "10").expect("a file");
    let answer = json(&format!("run --requests 3 --prompt {file}"));
    assert_eq!(
        answer["load"]["prompt_tokens"],
        json!({
            "distribution": "file", "path": name, "values": 1, "mean": 10.0, "min": 10, "max": 10
        })
    );
}
