//! Workloads: arrival processes, lengths, shared prefixes, sessions and closed loops.
//!
//! A [`Source`] yields requests one at a time. [`SyntheticLoad`] is an open loop, [`ClosedLoop`] a closed one;
//! [`Stream`] is a source over any iterator of requests, [`RequestList`] over a slice.

mod arrivals;
pub(super) mod arrived;
mod closed_loop;
mod lengths;
mod mix;
pub(super) mod parameter;
pub(super) mod random;
mod retries;
mod session;
pub(super) mod source;
mod synthetic;
mod think_time;
mod weights;

pub use arrivals::Arrivals;
pub use closed_loop::{ClosedLoop, LimitedLoop};
pub use lengths::Lengths;
pub use mix::{CachedShare, Priorities, RequestMix, Sessions, SharedPrefixes};
pub use retries::Retries;
pub use source::{RequestList, Source, Stream};
pub use synthetic::SyntheticLoad;
pub use think_time::ThinkTime;
