//! Predictions of rooflut against what was measured on real servers.
//!
//! [`read`] turns a file of measurements into a [`Dataset`] of typed rows, recognised by its columns;
//! [`embedded`] are those that come with the project. [`validate`] predicts every row of a dataset and
//! compares; the functions of [`predict`] predict a single row, with whatever engine constants the
//! caller wants to try. No files, no clock: the same bytes in give the same numbers out.
//!
//! ```
//! use rooflut_validation::{Predictor, read, validate};
//! let text = "experiment,gpu,model,tp,engine,decode_requests,mean_context_tokens,step_ms\n\
//!             mine,h100,llama-3.1-8b,1,vllm-0.15.1,64,1000,10.5\n";
//! let report = validate(&read("mine.csv", text)?, &Predictor::default());
//! let summary = &report.summaries[0];
//! assert_eq!((summary.metric.name(), summary.errors.n), ("step", 1));
//! assert!(summary.errors.mean_signed > -100.0);
//! # Ok::<(), rooflut_validation::Error>(())
//! ```

mod cells;
mod compare;
mod dataset;
mod embedded;
mod engine;
mod error;
mod kind;
mod outcome;
pub mod predict;
mod read;
mod report;
mod rows;
mod summary;
mod tally;

pub use compare::{Comparison, Metric};
pub use dataset::{Dataset, Rows};
pub use embedded::embedded;
pub use engine::Predictor;
pub use error::{Error, Problem};
pub use kind::Kind;
pub use read::read;
pub use report::{Case, FileReport, MetricSummary, Setting, validate};
pub use rows::{
    DecodeStep, KvBlockCount, Label, Latencies, Limits, LoadStage, ReplayedRequest, Server,
    SoloRequest, Stage,
};
pub use summary::{Summary, signed_percent, summarize};
pub use tally::{Remark, Tallies, Tally};
