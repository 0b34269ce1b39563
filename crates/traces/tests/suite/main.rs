//! Trace formats: what is read, what is refused.

mod azure;
mod burst_gpt;
mod detect;
mod inference_perf;
mod memory;
mod mooncake;
mod own;
mod properties;
mod support;
mod vllm;
