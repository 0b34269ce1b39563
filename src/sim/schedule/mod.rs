//! The schedule of a server: queue, admission, KV blocks of requests, preemption.

mod clients;
mod group_blocks;
pub(super) mod interrupted;
mod kv_cache;
mod outside;
mod pass;
pub(super) mod plan;
pub(super) mod queue;
pub(super) mod running;
pub(super) mod scheduler;
pub(super) mod sequence;
