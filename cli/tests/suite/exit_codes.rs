//! Exit codes. (Those of signals are in `signals.rs`.)
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs::File;

use crate::support::{file, json, rooflut};

fn exit_code(line: &str) -> Option<i32> {
    rooflut(line).output().expect("the binary starts").status.code()
}

#[test]
fn exit_codes_say_how_a_command_ended() {
    const LIGHT: &str = "run --rate 5 --requests 600";
    for (line, code) in [
        ("models --json", 0),
        ("run --trace no-such.csv", 1),
        ("run --scenario no-such.toml", 1),
        ("run --model no-such.json", 1),
        ("run --prices no-such.toml", 1),
        ("run --tables no-such", 1),
        ("run --fleet no-such.toml", 1),
        ("run --requests 10 --requests-out no-such/requests.csv", 1),
        ("run --rate x", 2),
        ("run --users 16,128", 2),
        ("run --model no-such", 2),
        ("run --scenario Cargo.toml", 2),
        ("run --require", 2),
        ("plan --rate 5 --goodput ttft:1 --max-gpus 2", 3),
        ("saturate --goodput ttft:1 --requests 500", 3),
        (&format!("{LIGHT} --goodput ttft:1"), 0),
        (&format!("{LIGHT} --goodput ttft:1000 e2e:60s --require"), 0),
        (&format!("{LIGHT} --goodput ttft:1000 tpot:1 --require"), 3),
        (&format!("{LIGHT} --goodput ttft:1000 tpot:1 --require=false"), 0),
        (&format!("{LIGHT} --goodput e2e:2600 --require --attainment 0.05"), 0),
        (&format!("{LIGHT} --goodput e2e:100 --require --attainment 0.05"), 3),
        (&format!("{LIGHT} --attainment 0.05 --goodput e2e:100"), 2),
        // The first seed meets it, others do not.
        (&format!("{LIGHT} --goodput ttft:51.7 --require"), 0),
        (&format!("{LIGHT} --goodput ttft:51.7 --require --seeds 3"), 3),
        // A p99 is not known of 100 requests, a share is.
        ("run --rate 5 --requests 100 --goodput ttft:1000 --require", 2),
        ("run --rate 5 --requests 100 --goodput ttft:1000 --require --attainment 0.9", 0),
        // Overloaded servers that also miss the limit, and others that do not.
        ("run --rate 200 --requests 3000 --goodput ttft:1 --require", 4),
        ("run --rate 200 --requests 3000 --goodput tpot:10s --require", 4),
        ("run --rate 200 --requests 3000 --seeds 2 --goodput tpot:10s --require", 4),
        ("run --prompt 200000 --requests 20 --goodput ttft:1000 --require", 3),
        ("run --prompt 200000 --requests 20", 2),
    ] {
        assert_eq!(exit_code(line), Some(code), "{line}");
    }
}

#[test]
fn a_file_that_a_scenario_names_and_that_is_not_there_is_no_wrong_use() {
    for keys in
        ["[workload]\ntrace = 'no-such.csv'\n", "model = 'no-such/config.json'\n", "[output]\nprices = 'no-such'\n"]
    {
        let (_folder, path) = file("scenario.toml", keys);
        assert_eq!(exit_code(&format!("run --scenario {path}")), Some(1), "{keys}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_no_wrong_use() {
    let full = File::options().write(true).open("/dev/full").expect("a device");
    let status = rooflut("models").stdout(full).status().expect("the binary starts");
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_report_says_whether_the_required_limits_are_met() {
    let line = "run --rate 5 --requests 600 --goodput ttft:1000";
    assert!(json(line)["limits_met"].is_null());
    assert_eq!(json(&format!("{line} --require"))["limits_met"], true);
    let seeds = json(&format!("{line} --require --seeds 2"));
    assert_eq!(seeds["seeds"]["limits_met"], 2);
}
