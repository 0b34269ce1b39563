//! The schedule of a server: queue, admission, preemption and speculative decoding.

pub(super) mod interrupted;
pub(super) mod plan;
mod preemption;
pub(super) mod queue;
pub(super) mod running;
pub(super) mod scheduler;
pub(super) mod sequence;
pub(super) mod speculation;
