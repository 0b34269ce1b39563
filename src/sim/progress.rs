//! Progress of a run.

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Simulated time in nanoseconds; with several replicas, the time that all replicas have reached.
    pub now_ns: u64,
    /// Steps so far.
    pub steps: u64,
    /// Requests of the run, if known.
    pub total: Option<u64>,
    /// Requests served so far.
    pub completed: u64,
    /// Requests rejected so far.
    pub rejected: u64,
    /// Requests in the queue.
    pub waiting: u64,
    /// Requests that hold a sequence slot.
    pub running: u64,
    /// KV blocks in use.
    pub kv_blocks_used: u32,
}

impl Progress {
    /// Adds the counts of another replica; `now_ns` is the later of the two, `total` is kept.
    pub(super) fn plus(self, other: Progress) -> Progress {
        Progress {
            now_ns: self.now_ns.max(other.now_ns),
            steps: self.steps + other.steps,
            total: self.total,
            completed: self.completed + other.completed,
            rejected: self.rejected + other.rejected,
            waiting: self.waiting + other.waiting,
            running: self.running + other.running,
            kv_blocks_used: self.kv_blocks_used.saturating_add(other.kv_blocks_used),
        }
    }
}
