//! Predicts the time of LLM inference: measured GPU kernels, a roofline step model and a serving simulator.
//!
//! Kernel latencies measured on real GPUs are compiled into this crate. From them it computes the time of a kernel,
//! of an inference step (a batch of prefill chunks and decoding requests), and of a served workload with vLLM's
//! scheduling. Lookups and steps do not allocate, the core is `no_std`, and only `TableSet::try_load` (feature
//! `runtime-tables`) reads files. Every time has a [provenance](table::Provenance).
//!
//! ```
//! use rooflut::sim::Request;
//! use rooflut::step::{Chunk, DecodeGroup, StepBatch, StepModel};
//! use rooflut::table::sets;
//! use rooflut::{Deployment, model};
//!
//! let llama = model::find("llama-3.1-8b").ok_or("not in the catalogue")?;
//! let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
//!
//! // One step: a prompt of 512 tokens and 64 decoding requests of 1,000 tokens each.
//! let step = deployment.step_model().step_time(&StepBatch {
//!     prefill: &[Chunk::prompt(512)?],
//!     decode: &[DecodeGroup::uniform(64, 1_000)?],
//! });
//! assert!(step.total().ms() > 10.0 && step.total().ms() < 30.0);
//!
//! // A server: ten requests of 512 + 128 tokens at once.
//! let report = deployment.simulator()?.run(&[Request::new(512, 128); 10])?;
//! assert_eq!(report.summary.completed, 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which type to use
//!
//! | you want | use |
//! |---|---|
//! | a model on GPUs, served by an engine | [`Deployment`]: yields step model, memory plan, server and simulator |
//! | a model | [`model::find`] in the [`model::CATALOG`], or [`ModelSpec::builder`](model::ModelSpec::builder) |
//! | the time of one kernel | [`op::Gemm`], [`op::PrefillAttention`], [`op::DecodeAttention`], [`op::Moe`], [`op::AllReduce`] |
//! | the time of a kernel of an operation that is known at run time | [`op::Kernel`] |
//! | the time of a step, part by part | [`step::RooflineModel`] and [`step::StepBatch`] |
//! | how many KV blocks fit | [`model::MemoryPlan`] |
//! | TTFT, TPOT and throughput of a workload | `sim::Simulator`, with your own requests or those of `sim::load` |
//! | several replicas, or disaggregated prefill and decode | `sim::cluster` |
//! | a server driven by your own clock or router | `sim::Server` |
//! | your own latency model | [`step::LatencyModel`]: one method |
//! | your own measurements | the macro `tables!` (feature `macros`) or `TableSet::try_load` (feature `runtime-tables`) |
//! | the certainty of an answer | [`table::Provenance`], and [`table::Strictness`] to reject uncertain answers |
//!
//! # Features
//!
//! `std`, `sim` (the simulator) and `h100` (a table set) are on by default; both `std` and `sim` turn on `alloc`.
//! `a100`, `b200`, `b300`, `gb200`, `gb300`, `h200`, `l40s` and `rtx-pro-6000` add table sets, `macros` and
//! `runtime-tables` add your own measurements, `serde` adds serialization.
//!
//! Without `alloc`, a step model has equal layers of plain attention on one pipeline stage and data-parallel rank, and
//! built-in sets have the tables of these, without formats with a scale for each block of weights. Features are
//! additive and never change a number, except that experts of these formats are transferred from bf16 without `alloc`.

#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

#[doc(hidden)]
pub use rooflut_roofline::math;

mod as_text;
#[cfg(feature = "serde")]
mod checked;
mod constants;
pub mod deployment;
pub mod engine;
mod error;
mod generated;
pub mod hardware;
pub mod interval;
pub mod model;
pub mod op;
mod part;
#[cfg(feature = "sim")]
pub mod sim;
pub mod step;
pub mod table;
pub mod units;

use as_text::as_text;
#[cfg(feature = "serde")]
use checked::checked;
pub use deployment::Deployment;
pub use error::{Error, ErrorKind, Invalid, MessagePart, ResolveError};
pub use rooflut_roofline::UnknownName;
use rooflut_roofline::{names, setters};

/// ```
/// use rooflut::table::TableSet;
///
/// static TINY: &TableSet = rooflut::tables!("tests/fixtures/tiny-set");
/// assert_eq!(TINY.name(), "tiny");
/// ```
#[cfg(feature = "macros")]
pub use rooflut_macros::tables;

/// Items used by the code that `tables!` generates. Not a public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::table::{EntryPlace, Index, StaticSet, StaticTable, TableHead, error_groups};
    pub use phf;
    #[cfg(feature = "macros")]
    pub use rooflut_macros::tables_with_gpus;
    pub use rooflut_roofline::AxisPoint;
}

/// The examples of README and guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/library.md")]
struct Pages;
