//! Trace formats: what is read, what is refused.

mod azure;
mod burst_gpt;
mod columns;
mod compressed;
mod detect;
mod extent;
mod formats;
mod inference_perf;
mod memory;
mod messages;
mod mooncake;
mod own;
mod properties;
mod replay;
mod support;
mod vllm;
