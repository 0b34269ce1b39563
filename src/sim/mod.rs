//! A discrete-event simulator of LLM servers, step by step.
//!
//! [`Simulator`] takes a [`LatencyModel`](crate::step::LatencyModel), the limits of the server
//! ([`SimConfig`]) and a list of [`Request`]s, and reports when each request was scheduled, when it had its
//! first token and when it finished ([`SimReport`]). Time is counted in whole nanoseconds; the same input
//! gives the same bytes on every platform. Requests come from a list, from a
//! [`SyntheticLoad`](load::SyntheticLoad) (an open loop) or from a [`ClosedLoop`](load::ClosedLoop), whose
//! users wait for each answer.
//!
//! ```
//! use rooflut::sim::load::Arrivals;
//! use rooflut::sim::{Request, SimConfig, Simulator};
//! use rooflut::step::{LatencyModel, StepBatch};
//! use rooflut::units::Seconds;
//!
//! /// 5 ms per step and 40 us per token, made-up numbers.
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
//! let report = Simulator::try_new(Linear, config)?.run(&requests)?;
//!
//! assert_eq!(report.summary.completed, 100);
//! let ttft = report.summary.ttft.expect("requests have completed");
//! assert!(ttft.p50.ms() > 5.0 && ttft.p50 <= ttft.p99);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Figures
//!
//! [`Simulator::run`] keeps a [`RequestRecord`] per request, and its [`Summary`](figures::Summary) is exact.
//! For millions of requests, [`Simulator::serve`] takes them from a [`Source`](load::Source) one at a time
//! and calls an [`Observer`]. The observer `figures::Digest` (with `std`) produces the same summary with
//! percentiles within 0.05 %, in about a megabyte for any number of requests. `TokenGaps` adds inter-token
//! latency to a run with records, [`BatchSizes`](figures::BatchSizes) the number of requests per step, and
//! [`Goodput`](figures::Goodput) the number of requests within [`LatencyLimits`](figures::LatencyLimits).
//!
//! # The schedule
//!
//! The rules are those of vLLM V1. A step has a token budget. Running requests are scheduled first, in
//! order of admission: a decoding request takes one token (and its drafts, see below), a request in prefill
//! as much of its prompt as the budget allows. Then waiting requests are admitted, first come, first served
//! (or in the order of another [`SchedulingPolicy`]), while budget, sequence slots and KV blocks last; the
//! first request that does not fit blocks those behind it. The last chunk of a prompt yields the first
//! token.
//!
//! A running request takes a KV block when it grows into it. If none is free, the most recently
//! admitted running request is preempted: it frees its blocks, returns to the head of the queue,
//! and computes its prompt and its output so far again later. A step that preempts admits no request.
//!
//! [`Scheduling`](crate::engine::Scheduling) determines how early the batch of a step is fixed, and so how
//! long an arrival waits.
//!
//! With prefix caching ([`PrefixCaching`]) freed blocks keep their contents until they are reused, the least
//! recently used block first. A request reuses the blocks of a common prefix ([`Content`]): a system prompt,
//! the earlier turns of its session, the blocks of a trace, its own blocks after a preemption.
//!
//! With [`Speculation`] a step verifies the drafted tokens of each decoding request, and yields the accepted
//! ones and one more; [`Drafting`](crate::step::Drafting) adds the time of the draft model or MTP layer.
//!
//! With [`patience`](SimConfig::patience_ns) a client closes the connection if the first token has not come in time.
//! The engine aborts the request at the next step boundary: it leaves the queue, or its blocks are freed and the
//! chunks of its prompt computed for nothing. A request whose last chunk is scheduled keeps its client.
//!
//! At the end of a step its results are applied first, then requests whose clients have given up are aborted, then the
//! arrivals up to that nanosecond are received, then the next step is scheduled.
//!
//! Assumes: a request stops at its output length, which the engine knows one step ahead; a prefix hit that
//! is given with the request (`cached_prompt_tokens`) is never evicted and takes no block; the output of a
//! request can be reused once the request has finished; steps follow each other without a gap.
//!
//! # More than one server, and other clocks
//!
//! [`Cluster`](cluster::Cluster) simulates several servers behind a router, equal or unlike ones,
//! [`Disaggregated`](cluster::Disaggregated) separate prefill and decode servers. Each server is one engine or several
//! data-parallel ranks ([`ServerPool`](cluster::ServerPool)), and may be lost for some time
//! ([`Outage`](cluster::Outage)). A router or a clock of your own drives [`Server`]s directly: it pushes requests,
//! advances each server to a time, reads the events and [cancels](Server::cancel) requests. See
//! `examples/drive_two_servers.rs`, `examples/own_router.rs` for prefill and decode servers, and
//! `examples/co_simulate.rs`.
//!
//! The API server tokenizes one prompt after another (`SimConfig::api_token_ns`); all else that it does before the engine
//! sees a request takes a constant time (`SimConfig::api_server_ns`).
//!
//! Does not model: the network.

mod clock;
pub mod cluster;
mod config;
mod error;
pub mod figures;
pub mod load;
mod memory;
mod observer;
mod progress;
mod record;
mod request;
mod schedule;
mod server;
mod simulator;
mod speculation;

pub use config::{PrefixCaching, Role, SchedulingPolicy, SimConfig};
pub use error::{Rejection, ServerError, StepTimeError};
pub use figures::report::SimReport;
pub use observer::{Observer, StepRecord};
pub use progress::Progress;
pub use record::{KvTransfer, Outcome, RequestRecord, Timing};
pub use request::{Content, Request};
pub use server::{RequestId, Server, ServerEvent, StepOutcome};
pub use simulator::Simulator;
pub use speculation::Speculation;
