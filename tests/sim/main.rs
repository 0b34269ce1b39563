//! The simulator: against a plain engine, rule by rule, and what it counts.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do"
)]

mod api_server;
mod cancel;
mod closed_loop;
mod cluster;
mod digest;
mod disaggregated;
mod early_end;
mod engines_agree;
mod fleets;
mod lengths;
mod load;
mod lockstep;
mod oracle;
mod outages;
mod patience;
mod pipeline;
mod properties;
mod schedule;
mod server;
mod sources;
mod step_times;
mod support;
mod workloads;
