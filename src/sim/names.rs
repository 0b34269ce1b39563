//! The names of policies.

use crate::sim::{Policy, PrefixCaching, Router};

crate::names!(Policy {
    Fcfs => "fcfs",
    ShortestPrompt => "shortest-prompt",
    Priority => "priority",
});

crate::names!(PrefixCaching {
    Enabled => "on",
    Disabled => "off",
});

crate::names!(Router {
    RoundRobin => "round-robin",
    LeastOutstandingTokens => "least-tokens",
    PrefixAffinity => "prefix-affinity",
});
