//! What a server computes in each step: the queue, admission, preemption and speculation.

pub(super) mod interrupted;
pub(super) mod plan;
pub(super) mod queue;
pub(super) mod running;
pub(super) mod scheduler;
pub(super) mod sequence;
pub(super) mod speculation;
