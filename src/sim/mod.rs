//! Simulated servers, step by step.
//!
//! [`Simulator`] takes a [`LatencyModel`](crate::step::LatencyModel), the limits of the server
//! ([`SimConfig`]) and a list of [`Request`]s, and answers when each request was scheduled, gave its
//! first token and finished ([`SimReport`]). Time is whole nanoseconds; the same input gives the same
//! bytes on every platform. Requests are yours, or those of a [`SyntheticLoad`](load::SyntheticLoad), which does not wait
//! for answers, or a [`ClosedLoop`](load::ClosedLoop), which does.
//!
//! ```
//! use rooflut::sim::load::Arrivals;
//! use rooflut::sim::{Request, SimConfig, Simulator};
//! use rooflut::step::{LatencyModel, StepBatch};
//! use rooflut::units::Seconds;
//!
//! /// 5 ms a step and 40 us a token, made up.
//! struct Linear;
//!
//! impl LatencyModel for Linear {
//!     fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
//!         Seconds::from_us(5_000.0 + 40.0 * batch.tokens() as f64)
//!     }
//! }
//!
//! let requests: Vec<Request> = Arrivals::try_poisson(4.0, 42)?
//!     .take(100)
//!     .map(|arrival_ns| Request::new(512, 128).at_ns(arrival_ns))
//!     .collect();
//!
//! let config = SimConfig::new(8_192, 27_000); // longest request, KV blocks
//! let report = Simulator::try_new(Linear, config)?.run(&requests);
//!
//! assert_eq!(report.summary.completed, 100);
//! let ttft = report.summary.ttft.expect("requests have completed");
//! assert!(ttft.p50.ms() > 5.0 && ttft.p50 <= ttft.p99);
//! # Ok::<(), rooflut::sim::SimError>(())
//! ```
//!
//! # Figures
//!
//! [`Simulator::run`] keeps a [`RequestRecord`] per request, and its [`Summary`](figures::Summary) is exact. For millions of
//! requests, [`Simulator::serve`] takes them from a [`Source`](load::Source) one at a time and tells an [`Observer`]:
//! `Digest` (feature `digest`) has the same summary, in about a megabyte whatever the number of requests, with
//! percentiles within 0.05 %. `TokenGaps` adds inter-token latency to a run with records, [`BatchSizes`](figures::BatchSizes) how
//! many requests its steps compute, [`Goodput`](figures::Goodput) counts the requests that met [`LatencyLimits`](figures::LatencyLimits).
//!
//! # The schedule
//!
//! The rules are those of vLLM V1. A step has a budget of tokens. Running requests come first, in the
//! order of their admission: a decoding one takes one token (and its drafts, see below), one in prefill as
//! much of its prompt as the budget leaves. Then waiting requests are admitted, first come first served, while budget,
//! sequence slots and KV blocks last ([`SchedulingPolicy`] may want another order); the first that does not fit
//! blocks those behind it. The last
//! chunk of a prompt yields the first token.
//!
//! A running request takes a KV block when it grows into it. If none is free, the most recently
//! admitted running request is preempted: it gives its blocks back, returns to the head of the queue,
//! and its prompt and output so far are computed again later. A step that preempts admits nobody.
//!
//! [`Scheduling`](crate::engine::Scheduling) says how early the batch of a step is fixed, and with it how long an arrival waits.
//!
//! With prefix caching ([`PrefixCaching`]) freed blocks keep their contents until they are taken, the
//! least recently used first, and a request finds those that begin as it does ([`Content`]): a system
//! prompt, the earlier turns of its session, the blocks of a trace, its own after a preemption.
//!
//! Assumes: requests stop at their output length, which the engine knows one step ahead; a prefix
//! hit that is given with the request (`cached_prompt_tokens`) is never evicted and takes no block of
//! its own; what a request decodes is found by others once it has left; steps follow each other
//! without a gap. At the end of a step its results come first, then arrivals up to that
//! nanosecond, then the schedule.
//!
//! With [`Speculation`] a step verifies drafted tokens of each request that decodes, and yields as many as are
//! accepted and one more; [`Drafting`](crate::step::Drafting) adds the draft model's time.
//!
//! # More than one server, and other clocks
//!
//! [`Cluster`](cluster::Cluster) is several such servers behind a router, [`Disaggregated`](cluster::Disaggregated) prefill and decode on servers of their
//! own. A router or a clock of your own drives [`Server`]s itself: it pushes requests, advances each server to a
//! time and reads what happened. `examples/drive_two_servers.rs` and `examples/co_simulate.rs` do.
//!
//! Does not model: the network. The time of the API server is a constant (`SimConfig::api_server_ns`).

pub mod cluster;
mod config;
mod error;
pub mod figures;
pub mod load;
mod memory;
mod observer;
mod progress;
mod request;
mod schedule;
mod server;
mod simulator;

pub use config::{PrefixCaching, SchedulingPolicy, SimConfig};
pub use error::{Rejection, ServerError, SimError};
pub use figures::record::{KvTransfer, Outcome, RequestRecord, Timing};
pub use figures::report::SimReport;
pub use observer::{Observer, StepRecord};
pub use progress::Progress;
pub use request::{Content, Request};
pub use schedule::speculation::Speculation;
pub use server::{RequestId, Server, ServerEvent, StepOutcome};
pub use simulator::Simulator;
