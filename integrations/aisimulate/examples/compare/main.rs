//! The tables of the README: rooflut's own simulator beside AISimulate with rooflut's step times and with its default
//! ones.
//!
//! `cargo run --release --example compare`

mod figures;
mod replayed;
mod simulated;
mod speed;
mod workload;

use std::error::Error;

use aisimulate_core::engine::TimingModelConfig;
use rooflut::{Deployment, model, table::sets};
use rooflut_aisimulate::RooflineTiming;

use figures::{Figures, Latencies};
use simulated::simulators;
use workload::Workload;

fn main() -> Result<(), Box<dyn Error>> {
    let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
    let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
    let timing = RooflineTiming::try_new(&deployment)?;
    for workload in [Workload::even()?, Workload::spread()?] {
        compare(&workload, &deployment, &timing)?;
    }
    speed::compare(&Workload::even()?, &deployment, &timing)
}

/// Prints the latencies of a workload, and the differences from the first row.
fn compare(
    workload: &Workload,
    deployment: &Deployment,
    timing: &RooflineTiming,
) -> Result<(), Box<dyn Error>> {
    println!("\n{}\n", workload.name);
    println!("| ms | TTFT mean | p50 | p99 | TPOT mean | p50 | p99 |");
    println!("|---|---|---|---|---|---|---|");
    let mut rows: Vec<(&str, Latencies)> = Vec::new();
    for (name, simulator) in simulators(deployment)? {
        rows.push((name, simulated::latencies(&simulator, workload)));
    }
    let with_rooflut = timing.engine_config()?;
    let mut default = with_rooflut.clone();
    default.timing_model = TimingModelConfig::Polynomial;
    let with_rooflut = replayed::latencies(with_rooflut, Some(timing), workload)?;
    rows.push(("AISimulate with rooflut", with_rooflut));
    let default = replayed::latencies(default, None, workload)?;
    rows.push(("AISimulate by default", default));

    let mut first: Option<Figures> = None;
    for (name, latencies) in rows {
        let figures = latencies.figures();
        println!("| {name} | {} |", figures.beside(first.as_ref()));
        first.get_or_insert(figures);
    }
    Ok(())
}
