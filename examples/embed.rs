//! Step times in nanoseconds for a simulator: builds the model once, then times many steps.
//!
//! `cargo run --release -p rooflut --example embed`

use std::error::Error;

use rooflut::step::{Chunk, DecodeGroup, StepBatch, StepModel};
use rooflut::table::sets;
use rooflut::{Deployment, model};

fn main() -> Result<(), Box<dyn Error>> {
    // Once: looks up every kernel. Only this can fail.
    let llama = model::find("llama-3.1-70b").ok_or("not in the catalogue")?;
    let deployment = Deployment::builder(llama.spec, &sets::H100).tp(4).build()?;
    let model = deployment.step_model();

    // Often: a scheduler's batch in, nanoseconds out. No allocation, no failure.
    println!("decoding requests  KV tokens  new prompt tokens  step");
    let prompt = Chunk::prompt(2048)?;
    for (requests, prefill) in [(1, &[][..]), (32, &[]), (128, &[]), (128, &[prompt])] {
        let decode = DecodeGroup::uniform(requests, 1000)?;
        let batch = StepBatch { prefill, decode: &[decode] };
        let time = model.step_time(&batch);
        println!(
            "{requests:17}  {:9}  {:17}  {:>11} ns, bound by {}",
            decode.kv_tokens(),
            batch.prefill_tokens(),
            time.total().to_nanos(),
            time.binding(),
        );
    }
    Ok(())
}
