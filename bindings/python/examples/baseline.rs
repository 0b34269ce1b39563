//! Nanoseconds of a GEMM lookup and of a step in Rust, to compare the package's with.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use rooflut::hardware::{Dtype, GemmShape};
use rooflut::op::Gemm;
use rooflut::step::{DecodeGroup, LatencyModel, StepBatch};
use rooflut::table::sets;
use rooflut::{Deployment, model};

const QUERIES: u32 = 50_000;
const ROUNDS: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let shape = GemmShape {
        dtype: Dtype::Bf16,
        k: 4096,
        n: 6144,
    };
    let gemm = Gemm::resolve(&sets::H100, shape)?;
    let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
    let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
    // The tests of the package ask the same.
    let queries: Vec<u32> = (0..QUERIES)
        .map(|i| 1 + i.wrapping_mul(7_919) % 8_192)
        .collect();
    println!(
        "{}",
        best(|| queries
            .iter()
            .map(|m| gemm.at(*m).time.0)
            .collect::<Vec<f64>>())
    );
    let groups: Result<Vec<DecodeGroup>, _> = queries
        .iter()
        .map(|m| DecodeGroup::from_sum(64, 64 + u64::from(*m) * 16))
        .collect();
    let groups = groups?;
    let model = deployment.step_model();
    let time_ns = |group: &DecodeGroup| {
        let decode = std::slice::from_ref(group);
        model
            .total_time(&StepBatch {
                prefill: &[],
                decode,
            })
            .to_nanos()
    };
    println!(
        "{}",
        best(|| groups.iter().map(time_ns).collect::<Vec<u64>>())
    );
    Ok(())
}

/// Returns the shortest time of a query in nanoseconds.
fn best<T>(ask: impl Fn() -> T) -> f64 {
    let time = |_| {
        let start = Instant::now();
        black_box(ask());
        start.elapsed().as_secs_f64()
    };
    let seconds = (0..ROUNDS).map(time).fold(f64::INFINITY, f64::min);
    seconds * 1e9 / f64::from(QUERIES)
}
