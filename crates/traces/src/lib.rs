//! Reads published request traces for the simulator of rooflut.
//!
//! [`read`] turns the bytes of a file into a [`Trace`]: its requests, and the number of requests that were
//! left out. The format is recognised by columns or keys ([`Format::detect`]) unless [`Options::format`]
//! names it. The crate opens no files and reads no clock: the same bytes give the same requests.
//!
//! ```
//! use rooflut_traces::{Format, Options, read};
//! let text = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
//!             2023-11-16 18:15:46.6805900,374,44\n\
//!             2023-11-16 18:15:50.9951690,396,109\n";
//! let trace = read(text.as_bytes(), &Options::default())?;
//! assert_eq!(trace.format, Format::Azure);
//! assert_eq!(trace.requests[1].arrival_ns, 4_314_579_000);
//! assert_eq!(trace.requests[1].prompt_tokens, 396);
//! # Ok::<(), rooflut_traces::TraceError>(())
//! ```
//!
//! All formats have in common:
//!
//! - Arrivals may be equal and in any order; requests stay in the order of the file. rooflut's own CSV
//!   counts arrivals from the start of the simulation. The other formats have clocks of their own, so
//!   their arrivals count from the earliest request that is read.
//! - An arrival beyond the range of the simulator's clock (292 years) is an error.
//! - Prompts and outputs of zero tokens are read; the simulator rejects them, by request. Requests that
//!   failed where the trace was recorded are left out and counted ([`Trace::left_out`]).
//! - Unknown columns and keys are ignored, and so is a byte order mark.
//!
//! # Memory
//!
//! Besides the bytes of the file, a trace needs a [`rooflut::sim::Request`] per request and the ids of
//! [`Trace::block_ids`].
//!
//! # Does not model
//!
//! The content of prompts ([`rooflut::sim::Content`]) is read from the columns `prefix_id`,
//! `prefix_tokens`, `session_id` and the key `hash_ids`. Whether requests share blocks is up to the
//! simulator: without prefix caching, such a trace runs without hits.

mod azure;
mod builder;
mod burst_gpt;
mod cell;
mod detect;
mod error;
mod format;
mod inference_perf;
mod json;
mod left_out;
mod lines;
mod message;
mod mooncake;
mod own;
mod read;
mod table;
mod text_id;
mod trace;
mod vllm;

pub use error::{Key, Problem, TraceError};
pub use format::{Format, UnknownFormat};
pub use left_out::LeftOut;
pub use read::read;
pub use trace::{ArrivalSource, BLOCK_TOKENS, Condition, NotACondition, Options, Trace};
