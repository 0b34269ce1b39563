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
use rooflut_aisimulate::RooflineTiming;

use figures::{Figures, Latencies};
use workload::Workload;

fn main() -> Result<(), Box<dyn Error>> {
    let even = Workload::even()?;
    compare(&even)?;
    compare(&Workload::spread()?)?;
    speed::compare(&even)
}

/// Prints the latencies of a workload, and the differences from the first row.
fn compare(workload: &Workload) -> Result<(), Box<dyn Error>> {
    println!("\n{}\n", workload.name);
    println!("| ms | TTFT mean | p50 | p99 | TPOT mean | p50 | p99 |");
    println!("|---|---|---|---|---|---|---|");
    let mut rows: Vec<(&str, Latencies)> = Vec::new();
    for (name, simulator) in simulated::simulators(&workload.deployment)? {
        rows.push((name, simulated::latencies(&simulator, workload)?));
    }
    let timing = RooflineTiming::try_new(&workload.deployment)?;
    let config = timing.engine_config()?;
    let with_rooflut = replayed::latencies(config.clone(), Some(&timing), workload)?;
    rows.push(("AISimulate with rooflut", with_rooflut));
    let mut default = config;
    default.timing_model = TimingModelConfig::Polynomial;
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
