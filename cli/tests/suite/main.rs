//! The commands, as users run them.

mod calibrate;
mod compare;
#[cfg(feature = "parquet")]
mod destinations;
mod disaggregation;
#[cfg(feature = "parquet")]
mod disks;
mod documents;
mod exit_codes;
mod fits;
mod fleets;
mod fuzz_corpus;
#[cfg(feature = "parquet")]
mod killed;
mod library;
mod links;
mod lists;
mod lookup;
mod model_file;
mod numbers;
mod own_tables;
mod pages;
mod perfetto;
mod plan;
mod policies;
mod progress;
mod questions;
mod recipes;
mod report;
mod run;
mod run_figures;
mod saturate;
mod scenario;
#[cfg(feature = "schema")]
mod schemas;
mod signals;
mod speculation;
mod step;
mod submit;
#[path = "../support/mod.rs"]
mod support;
mod sweep;
#[cfg(feature = "parquet")]
mod sweep_parquet;
mod terminal;
mod trace;
mod unservable;
mod vllm;
mod workload;

/// The binary under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_rooflut");
