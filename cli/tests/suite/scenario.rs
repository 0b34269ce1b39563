//! `rooflut run --scenario`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use crate::support::scenarios::{answer, file, refusal};
use crate::support::{failure, json, success};
use serde_json::{Value, json};

const EXAMPLE: &str = "examples/scenario.toml";

#[test]
fn the_example_runs_and_the_readme_names_it() {
    let answer = json(&format!("run --scenario {EXAMPLE}"));
    assert_eq!(answer["completed"], 500);
    assert_eq!(answer["gpu"], "h200");
    assert_eq!(answer["load"]["kind"], "gamma");
    assert_eq!(answer["scenario"], json!({"path": EXAMPLE, "replaced": []}));
    let readme = include_str!("../../../README.md");
    assert!(readme.contains("run --scenario examples/scenario.toml"));
}

#[test]
fn keys_are_the_flags_of_their_names() {
    let text = "tp = 2\n[server]\nmax-num-seqs = 64\npolicy = 'priority'\n[workload]\nrate = 5\nrequests = 50\n\
                prompt = 'uniform:100..900'\noutput = 100\npriorities = [0.4, 0.6]\nseed = 3\n\
                [output]\njson = true\n";
    let (_folder, path) = file(text);
    let said: Value =
        serde_json::from_str(&success(&format!("run --scenario {path}"))).expect("JSON");
    let flags = "run --tp 2 --max-num-seqs 64 --rate 5 --requests 50 --prompt uniform:100..900 --output 100 --policy priority --priorities 0.4,0.6 --seed 3";
    let mut flagged = json(flags);
    assert_eq!(flagged["scenario"], Value::Null);
    flagged["scenario"] = json!({"path": path, "replaced": []});
    assert_eq!(said, flagged);
}

#[test]
fn the_command_line_replaces_keys_and_what_they_bring_along() {
    let gamma = "[workload]\nrate = 5\narrival = 'gamma'\nburstiness = 0.5\nrequests = 9";
    for (text, flags, replaced, kind) in [
        (gamma, "--rate=7", &["rate"][..], "gamma"),
        (
            gamma,
            "--users 2",
            &["rate", "arrival", "burstiness"],
            "closed_loop",
        ),
        (
            "[output]\njson = true",
            "--requests 9",
            &["json"],
            "poisson",
        ),
    ] {
        let answer = answer(text, flags);
        assert_eq!(answer["scenario"]["replaced"], json!(replaced));
        assert_eq!(answer["load"]["kind"], kind, "{text}, {flags:?}");
    }
    let (_folder, path) = file("[workload]\nrequests = 9\nrate = 7");
    let flags = format!("run --rate 3 --requests 8 --scenario {path}");
    let text = success(&flags);
    let text: Vec<&str> = text.split_whitespace().collect();
    let expected = "scenario.toml; the command line replaces requests, rate load 8 requests, 3 per";
    assert!(text.join(" ").contains(expected), "{text:?}");
}

#[test]
fn what_is_missing_once_a_key_is_replaced_is_asked_for() {
    let text = "[workload]\nusers = 5\nturns = 2";
    let message = refusal(text, "--rate 5");
    assert_eq!(message, "FILE:3: turns needs think_time or users; add it");
}

#[test]
fn mistakes_in_a_scenario_come_with_their_line() {
    for (text, expected) in [
        (
            "[workload]\nmodle = 'a'",
            "FILE:2: unknown key \"modle\" in [workload] (nearest: model); correct or remove it \
             (`rooflut run --help` lists all, with dashes for underscores)",
        ),
        (
            "\ntp = 'two'",
            "FILE:2: tp: expected a whole number of at least 0, as in 1000, 1_000, 1,000 or 1e3 (not 1k, which may be 1,024); \
             correct 'two'",
        ),
        (
            "[workload]\n\nrate = 0",
            "FILE:3: rate: expected a positive, finite number of requests per second, found 0",
        ),
        (
            "[workload]\nrate = 1\nusers = 2",
            "FILE:3: users cannot be used with rate; leave one of them out",
        ),
        (
            "[workload]\narrival = 'gamma'",
            "FILE:2: arrival = gamma needs burstiness; add it",
        ),
        ("x = ", "FILE:1: expected TOML: "),
    ] {
        let message = refusal(text, "");
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn mistakes_on_the_command_line_have_no_line() {
    let message = refusal("[workload]\nrate = 5", "--rate 0");
    assert!(
        message.starts_with("--rate: expected a positive"),
        "{message}"
    );
    let message = refusal("[workload]\nrate = 5", "--users 5 --rate 1");
    assert!(
        message.starts_with("--users cannot be used with --rate"),
        "{message}"
    );
    assert!(failure("run --scenario no/such").starts_with("cannot read no/such"));
    assert!(failure("run --scenario").contains("a value is required for '--scenario"));
    let none = failure("run --scenario --rate 5");
    assert!(
        none.contains("a value is required for '--scenario"),
        "{none}"
    );
    let twice = failure(&format!("run --scenario {EXAMPLE} --scenario {EXAMPLE}"));
    assert!(twice.contains("cannot be used multiple times"), "{twice}");
    assert!(failure(&format!("step --scenario {EXAMPLE}")).contains("--scenario"));
}

#[test]
fn help_is_given_whatever_the_scenario_is() {
    let help = success("run --scenario no/such --help");
    for word in [
        "--scenario <FILE>",
        "Workload:",
        "Trace:",
        "Server:",
        "LENGTHS are",
    ] {
        assert!(help.contains(word), "{help}");
    }
    let (_folder, path) = file("");
    assert_eq!(
        json(&format!("run --scenario {path}"))["ttft_ms"],
        json("run")["ttft_ms"]
    );
}
