//! Links and runs without std and without an allocator: a library that pulled either in would fail
//! here (a second panic handler, or no global allocator).
#![no_std]
#![no_main]

use core::hint::black_box;
use rooflut::model;
use rooflut::step::{Chunk, DecodeGroup, Parallelism, RooflineModel, StepBatch, StepModel, StepOptions};
use rooflut::table::sets;

#[link(name = "c")]
unsafe extern "C" {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Exit status 0 if a step of an 8B model on an H100 takes between 5 and 50 ms.
#[unsafe(no_mangle)]
pub extern "C" fn main() -> i32 {
    let Some(llama) = model::find(black_box("llama-3.1-8b")) else {
        return 1;
    };
    let options = StepOptions::default();
    let Ok(step) = RooflineModel::try_new(&llama.spec, &sets::H100, Parallelism::SINGLE, options) else {
        return 2;
    };
    let (Ok(prompt), Ok(group)) = (Chunk::prompt(512), DecodeGroup::uniform(64, 1_000)) else {
        return 4;
    };
    let batch = StepBatch { prefill: &[prompt], decode: &[group] };
    let ms = step.step_time(&black_box(batch)).total().ms();
    if (5.0..50.0).contains(&ms) { 0 } else { 3 }
}
