#![doc = include_str!("../README.md")]

mod aiperf;
mod compared;
mod contents;
mod deployment;
mod distribution;
mod files;
mod guidellm;
mod inference_perf;
mod inferencex;
mod json;
mod lists;
mod log;
mod measured;
mod merge;
mod metrics;
mod notes;
mod prometheus;
mod read;
mod requests;
mod run;
mod scenario;
mod scrape;
mod sglang;
mod step;
mod steps;
mod units;
mod value;
mod vllm;

pub use compared::{Compared, Figure, Term};
pub use distribution::Distribution;
pub use files::File;
pub use measured::{Fact, Measured, ReadFile};
pub use requests::Request;
pub use run::{Load, Run};
pub use step::Step;
