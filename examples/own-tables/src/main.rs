//! Custom measurements, compiled in and read at run time.
//!
//! An optional argument is the path of a folder or file to read instead of the folder that was compiled in.

use std::error::Error;
use std::{env, process::ExitCode};

use rooflut::step::{DecodeGroup, StepBatch, StepModel};
use rooflut::table::TableSet;
use rooflut::{Deployment, model};

/// Checked and compiled with this crate; recompiled when a file changes.
static COMPILED: &TableSet = rooflut::tables!("measurements/my-gpu");

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/measurements/my-gpu");

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let argument = env::args_os().nth(1);
    let read = TableSet::try_load(argument.as_deref().unwrap_or(FOLDER.as_ref()))?;
    let compiled_us = decode_us("compiled", COMPILED)?;
    let read_us = decode_us("read", &read)?;
    if argument.is_none() && compiled_us.to_bits() != read_us.to_bits() {
        return Err("expected the same from the same files, found two times".into());
    }
    Ok(())
}

/// Prints and returns the microseconds of a step of 32 decoding requests.
fn decode_us(how: &str, set: &TableSet) -> Result<f64, Box<dyn Error>> {
    let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
    let deployment = Deployment::builder(llama.spec, set).build()?;
    let step =
        deployment.step_model().step_time(&StepBatch { prefill: &[], decode: &[DecodeGroup::uniform(32, 1_000)?] });
    let fitted = 100.0 * step.fitted_share();
    println!("{how:8} {}: {} on {}, {fitted:.0} % of it fitted", set.name(), step.total(), set.gpu().description);
    Ok(step.total().us())
}
