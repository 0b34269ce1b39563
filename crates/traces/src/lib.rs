//! Reads published request traces for the simulator of rooflut.
//!
//! [`read`] checks a file and returns a [`Trace`]: its format, the number of its requests, and what was left
//! out. [`Trace::replay`] reads it again as a [`Source`](rooflut::sim::load::Source) of requests. The format is
//! recognised by columns or keys ([`Format::detect`]) unless [`Options::format`] names it, and a file in no known
//! format is read by the names of its columns ([`ColumnNames`]). The crate opens no files and reads no clock: the same
//! bytes give the same requests.
//!
//! ```
//! use rooflut::sim::load::Source;
//! use rooflut_traces::{Format, Options, read};
//! let text = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
//!             2023-11-16 18:15:46.6805900,374,44\n\
//!             2023-11-16 18:15:50.9951690,396,109\n";
//! let trace = read(text.as_bytes(), &Options::default())?;
//! assert_eq!((trace.format, trace.requests), (Format::Azure, 2));
//! let mut requests = trace.replay()?;
//! requests.take();
//! let (index, request) = requests.take().ok_or("two requests")?;
//! assert_eq!((index, request.prompt_tokens), (1, 396));
//! assert_eq!(request.arrival_ns, 4_314_579_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All formats have in common:
//!
//! - Arrivals may be equal and in any order; a request is known by its place in the file. rooflut's own CSV
//!   counts arrivals from the start of the simulation. The other formats have clocks of their own, so
//!   their arrivals count from the earliest request that is read.
//! - An arrival beyond the range of the simulator's clock (292 years) is an error.
//! - Prompts and outputs of zero tokens are read; the simulator rejects them, by request. Requests that
//!   failed where the trace was recorded are left out and counted ([`Trace::left_out`]).
//! - Unknown columns and keys are listed ([`Trace::ignored`]), unless one looks like a misspelt column that
//!   would be read, which is an error. A byte order mark is ignored.
//! - Files that begin as gzip or zstd are decompressed. Other files that are recognised but cannot be read,
//!   as a pointer of Git LFS, are refused with what to do.
//!
//! # Memory
//!
//! A file is read twice and not kept: requests that are in order of time need 1 to 3 MB in all, whatever their
//! number. Requests out of order are held back for as long as they are late. The result of a benchmark and a
//! trace with delays are kept in memory.
//!
//! # Does not model
//!
//! Images ([`Trace::with_images`] counts the requests that have some). The content of prompts
//! ([`rooflut::sim::Content`]) is read from the columns `prefix_id`, `prefix_tokens`, `session_id` and the key
//! `hash_ids`. Whether requests share blocks is up to the simulator: without prefix caching, such a trace runs
//! without hits.

mod arrival_source;
mod cell;
mod column_names;
mod detect;
mod error;
mod extent;
mod fields;
mod foreign;
mod format;
mod inference_perf;
mod input;
mod json;
mod keyed;
mod left_out;
mod lines;
mod measurement;
mod mooncake;
mod options;
mod own;
mod plain;
mod quoted;
mod replay;
mod rows;
mod span;
mod table;
mod text_id;
mod trace;
mod unit;
mod vllm;

pub use arrival_source::ArrivalSource;
pub use column_names::ColumnNames;
pub use extent::Extent;
pub use format::Format;
pub use input::{Input, Scratch};
pub use left_out::LeftOut;
pub use measurement::Measurement;
pub use options::{Condition, Options};
pub use quoted::{Quoted, quote_infinities};
pub use replay::Replay;
pub use trace::{Trace, read};
