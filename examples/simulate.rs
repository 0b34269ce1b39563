//! The example of the README: a deployment, a load, and the latencies of its requests.
//!
//! `cargo run --release -p rooflut --example simulate`

use rooflut::sim::load::Arrivals;
use rooflut::sim::{Request, SimReport};
use rooflut::table::sets;
use rooflut::{Deployment, model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let summary = simulate()?.summary;
    println!("TTFT p99 {}", summary.ttft.ok_or("nothing completed")?.p99);
    Ok(())
}

/// 200 requests of 512 + 128 tokens, 10 per second, on one H100.
pub(crate) fn simulate() -> Result<SimReport, Box<dyn std::error::Error>> {
    let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
    let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
    let requests: Vec<Request> =
        Arrivals::try_poisson(10.0, 0)?.take(200).map(|arrival_ns| Request::new(512, 128).at_ns(arrival_ns)).collect();
    Ok(deployment.simulator()?.run(&requests)?)
}
