//! Policies of a server that do not depend on the version of the engine.

/// Whether freed KV blocks keep their contents until they are reused.
///
/// A prefix hit that is given with a request (`cached_prompt_tokens`) counts in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PrefixCaching {
    /// Freed blocks keep their contents and are reused least recently used first. A request reuses the
    /// blocks of a common prefix, a preempted request its own.
    #[default]
    Enabled,
    /// Every prompt is computed in full, after a preemption again.
    Disabled,
}

crate::names!(PrefixCaching {
    Enabled => "on",
    Disabled => "off",
});

/// Order in which waiting requests are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SchedulingPolicy {
    /// First come, first served; preempted requests before all others.
    #[default]
    Fcfs,
    /// Shortest prompt first; ties by arrival.
    ShortestPrompt,
    /// Smallest priority number first; ties by arrival. Preempts the running request with the largest number (ties:
    /// the latest arrival), even if it has its token in the step.
    Priority,
}

crate::names!(SchedulingPolicy {
    Fcfs => "fcfs",
    ShortestPrompt => "shortest-prompt",
    Priority => "priority",
});
