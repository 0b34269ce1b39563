//! Text as a terminal shows it: widths, colours, help, completions, manual pages, version.

#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::fmt::Write as _;
use std::fs;

use tempfile::TempDir;

use crate::support::terminal::{assert_fit, assert_help, assert_version, stdout, with_env};
use crate::support::{success, workspace};

/// Writes a few measured rows of each kind, and returns the command that predicts them.
fn validate(folder: &TempDir) -> String {
    let mut command = "validate".to_owned();
    for name in [
        "experiments",
        "servers_steady_state",
        "requests",
        "solo_requests",
        "decode_steps",
        "steps_b300_vllm_0.20.1",
        "kv_blocks",
        "memory_vllm_0.19",
    ] {
        let measured = workspace().join(format!("laboratory/validation/{name}.csv"));
        let measured = fs::read_to_string(measured).expect("measured rows");
        let rows: String = measured.split_inclusive('\n').take(5).collect();
        let path = folder.path().join(format!("{name}.csv"));
        fs::write(&path, rows).expect("a file");
        write!(command, " {}", path.display()).expect("memory");
    }
    command
}

#[test]
fn text_fits_into_80_columns_and_into_those_that_there_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let validate = validate(&folder);
    assert_fit(&[
        "tables check bench_data/h100",
        "tables check bench_data/b200",
        "tables check h200",
        "tables score bench_data/h200/attention_decode.csv --gpu h100",
        "tables score bench_data/h200/gemm.csv --gpu h100",
        "step --decode 64x1000 --prefill 512 --latency-model calibrated",
        &validate,
        &format!("{validate} --rows"),
    ]);
    // A wide terminal has a row of measurements on one line.
    let wide = stdout(&validate, &[("COLUMNS", "200")]);
    assert!(wide.contains("  id  "), "{wide}");
}

#[test]
fn every_help_wraps_and_has_a_manual_page() {
    assert_help(&["tables check", "import vidur", "validate", "fit", "completions"]);
}

#[test]
fn colours_are_for_terminals_and_never_in_markdown() {
    let is_coloured = |line: &str| {
        let output = with_env(line, &[("CLICOLOR_FORCE", "1")]);
        output.stdout.contains(&0x1b)
    };
    assert!(is_coloured("tables check h100"));
    assert!(!is_coloured("tables check h100 --color never"));
    let folder = tempfile::tempdir().expect("a folder");
    assert!(!is_coloured(&format!("{} --markdown", validate(&folder))));
}

#[test]
fn a_script_has_all_commands_and_flags() {
    let script = success("completions bash");
    for word in ["rooflut-lab", "check", "vidur", "deny-warnings"] {
        assert!(script.contains(word), "no {word}");
    }
}

#[test]
fn the_version_names_the_commit_and_the_data() {
    assert_version("rooflut-lab");
}
