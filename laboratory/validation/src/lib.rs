//! Compares the predictions of rooflut with measurements of real servers.
//!
//! [`read`] turns a file of measurements into a [`Dataset`] of typed rows; the kind of file follows from
//! its columns. [`embedded`] returns the datasets that come with the project. [`validate`] predicts
//! every row of a dataset and compares. The crate opens no files and reads no clock: equal input gives equal numbers.
//!
//! ```
//! use rooflut_validation::{Predictor, read, validate};
//! let text = "experiment,gpu,model,tp,engine,decode_requests,mean_context_tokens,step_ms\n\
//!             mine,h100,llama-3.1-8b,1,vllm-0.15.1,64,1000,10.5\n";
//! let report = validate(&read("mine.csv", text)?, &Predictor::default());
//! let summary = &report.summaries[0];
//! assert_eq!((summary.metric.name(), summary.errors.n), ("step", 1));
//! assert!(summary.errors.mean_signed > -100.0);
//! # Ok::<(), rooflut_error::Error>(())
//! ```

mod case;
mod cells;
mod closed_loop;
mod compare;
mod coverage;
mod covered;
mod dataset;
mod embedded;
mod engine;
mod engine_step;
mod fitted;
mod flat;
mod kind;
mod left_out;
mod lookup_errors;
mod moved;
mod not_modelled;
mod outcome;
mod pair;
mod predict;
mod read;
mod reason;
mod report;
mod rivals;
mod rows;
mod summary;
mod tally;
mod transfers;
mod without;

pub use case::{Case, Setting};
pub use compare::{Comparison, Metric};
pub use coverage::{MetricCoverage, coverage};
pub use covered::{Covered, NOMINAL, covered};
pub use dataset::Dataset;
pub use embedded::embedded;
pub use engine::Predictor;
pub use flat::{FlatCoverage, FlatNote, FlatReport, FlatRow, FlatSkipped, FlatSummary};
pub use kind::Kind;
pub use left_out::LeftOut;
pub use lookup_errors::{LookupCoverage, lookup_coverage, lookup_errors_csv};
pub use moved::Moved;
pub use read::read;
pub use report::{FileReport, MetricSummary, validate};
pub use rivals::{HeadToHead, head_to_head};
pub use rows::{Label, Row, Server, Stage};
pub use summary::{Summary, signed_percent, summarize};
pub use tally::{Remark, Tallies, Tally};
pub use transfers::{Predicted, StepKind, Transfer, transfers_markdown};
pub use without::{Without, without};
