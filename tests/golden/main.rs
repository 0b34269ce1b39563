//! Predictions equal the files of this folder. An unintended change fails; an intended one is accepted
//! with `ROOFLUT_ACCEPT=1 cargo test -p rooflut --all-features --test golden`.
#![cfg(all(
    feature = "a100",
    feature = "b200",
    feature = "h100",
    feature = "h200",
    feature = "l40s",
    feature = "b300",
    feature = "rtx-pro-6000"
))]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod comparison;
mod comparison_tests;
mod kv_blocks;
mod placed;
mod servers;
mod steps;

use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

use comparison::{ACCEPT, Golden, Line};

#[test]
fn steps_are_those_of_the_golden_file() {
    check(&steps::GOLDEN, &steps::predict());
}

#[test]
fn servers_are_those_of_the_golden_file() {
    check(&servers::GOLDEN, &servers::predict());
}

#[test]
fn kv_blocks_are_those_of_the_golden_file() {
    check(&kv_blocks::GOLDEN, &kv_blocks::predict());
}

/// Compares with the file, or writes it on request.
fn check(golden: &Golden, lines: &[Line]) {
    let accept = env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(golden.file);
    let predicted = golden.render(lines);
    let accepted = match fs::read_to_string(&path) {
        Err(error) if !accept => panic!("{}: {error}; write it with {ACCEPT}", path.display()),
        read => read.unwrap_or_default(),
    };
    let comparison = golden.compare(&accepted, &predicted);
    if accept {
        fs::write(&path, &predicted).expect("the golden file can be written");
        // `println!` is not shown for a passing test.
        let summary = format!("\naccepted: {}\n", comparison.summary(golden.file));
        let _ = io::stderr().write_all(summary.as_bytes());
        return;
    }
    if let Some(failure) = comparison.failure(golden.file) {
        panic!("{failure}");
    }
}
