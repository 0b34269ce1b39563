//! The schedule of a server: queue, admission, KV blocks of requests, preemption.

pub(super) mod interrupted;
mod kv_cache;
pub(super) mod plan;
mod preemption;
pub(super) mod queue;
pub(super) mod running;
pub(super) mod scheduler;
pub(super) mod sequence;
