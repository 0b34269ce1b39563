//! Prints `bench_data/fingerprints.csv`: one line per table of every set. From the repository root:
//!
//! ```text
//! cargo run -q -p rooflut-codegen --example fingerprints > bench_data/fingerprints.csv
//! ```
//!
//! An argument names another folder than `bench_data`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let data = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("bench_data"), PathBuf::from);
    match rooflut_codegen::fingerprints_csv(&data) {
        Ok(csv) => {
            print!("{csv}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
