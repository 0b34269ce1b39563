//! Request traces as they are published, read for the simulator of rooflut.
//!
//! [`read`] turns the bytes of a file into a [`Trace`]: requests, and what was left out. The format is
//! recognised by columns or keys ([`Format::detect`]) unless [`Options::format`] names it. No files, no
//! clock: the same bytes in give the same requests out.
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
//! What holds for all formats:
//!
//! - Arrivals may be equal and in any order; requests stay in the order of the file. The project's own
//!   CSV counts arrivals from the start of the simulation. All others count from a clock of their own,
//!   so their arrivals are taken from the earliest request that is read.
//! - An arrival later than the simulator's clock can tell (292 years) is an error.
//! - Prompts and outputs of zero tokens are read; the simulator rejects them, by request. Requests that
//!   failed where the trace was recorded are left out and counted ([`Trace::left_out`]).
//! - Columns and keys that mean nothing here are ignored, a byte order mark too.
//!
//! # Memory
//!
//! Besides the bytes a trace needs its records ([`rooflut::sim::Request`]) and the ids of
//! [`Trace::listed_ids`], and nothing else per request.
//!
//! # Does not model
//!
//! What the tokens are ([`rooflut::sim::Content`]) is read from the columns `prefix_id`, `prefix_tokens`,
//! `session_id` and the key `hash_ids`. Reading it does not make hits: whether requests share blocks is up
//! to the simulator, and one that does not look at the content runs such a trace without prefix hits.

mod arrivals;
mod azure;
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
mod table;
mod text_id;
mod trace;
mod vllm;

pub use error::{Key, Problem, TraceError};
pub use format::Format;
pub use left_out::LeftOut;
pub use trace::{ArrivalSource, Condition, LISTED_BLOCK_TOKENS, Options, Trace, read};
