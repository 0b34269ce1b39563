//! What the author of a simulator would write: a model once, then step times in nanoseconds.
//!
//! `cargo run --release -p rooflut --example embed`

use std::error::Error;

use rooflut::model;
use rooflut::step::{
    Chunk, DecodeGroup, LatencyModel, Parallelism, RooflineModel, StepBatch, StepOptions,
};
use rooflut::table::sets;

fn main() -> Result<(), Box<dyn Error>> {
    // Once: looks every kernel up; all that can fail, fails here.
    let llama = model::find("llama-3.1-70b").ok_or("not in the catalogue")?;
    let model = RooflineModel::try_new(
        &llama.spec,
        &sets::H100,
        Parallelism::tensor(4),
        StepOptions::default(),
    )?;

    // Often: a scheduler's batch in, nanoseconds out. No allocation, no failure.
    println!("decoding requests  KV tokens  new prompt tokens  step");
    for (requests, prompt) in [(1, 0), (32, 0), (128, 0), (128, 2048)] {
        let decode = [DecodeGroup {
            requests,
            kv_tokens: u64::from(requests) * 1000,
            drafted: 0,
        }];
        let prefill = [Chunk {
            new: prompt,
            context: 0,
            samples: u32::from(prompt > 0),
        }];
        let time = model.step_time(&StepBatch {
            prefill: &prefill,
            decode: &decode,
        });
        println!(
            "{requests:17}  {:9}  {prompt:17}  {:>11} ns, bound by {}",
            decode[0].kv_tokens,
            time.total().to_nanos(),
            time.binding(),
        );
    }
    Ok(())
}
