//! Arguments of `rooflut run`: who is served first, and by which replica.

use clap::{Args, ValueEnum};
use rooflut::deployment::DeploymentBuilder;
use rooflut::sim::{Policy, PrefixCaching, Router};

/// Who is served first, and by which replica.
#[derive(Args)]
#[command(next_help_heading = "Policies")]
pub(crate) struct PolicyArgs {
    /// Who is admitted first: fcfs, shortest-prompt or priority.
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = PolicyName::Fcfs)]
    pub(crate) policy: PolicyName,
    /// Requests that may wait at a server (where there are prefill servers: at these, not at decode servers); who
    /// comes when so many do is rejected [default: no limit].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_waiting: Option<u32>,
    /// Whether freed KV blocks keep their contents: on or off.
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = Switch::On)]
    pub(crate) prefix_caching: Switch,
    /// Equal servers behind a router.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) replicas: u32,
    /// Which replica a request goes to: round-robin, least-tokens or prefix-affinity.
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = RouterName::RoundRobin)]
    pub(crate) router: RouterName,
}

impl PolicyArgs {
    /// Sets the policies of each server of a deployment.
    pub(crate) fn apply(&self, deployment: DeploymentBuilder) -> DeploymentBuilder {
        deployment
            .policy(self.policy.into())
            .max_waiting(self.max_waiting)
            .prefix_caching(self.prefix_caching.into())
    }
}

/// Who is admitted first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    // First come, first served.
    Fcfs,
    // The shortest prompt first.
    ShortestPrompt,
    // The smallest class first.
    Priority,
}

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// Which replica a request goes to.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RouterName {
    // One after the other.
    RoundRobin,
    // The one with the fewest outstanding tokens.
    LeastTokens,
    // The one that has the prefix.
    PrefixAffinity,
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Policy {
        match name {
            PolicyName::Fcfs => Policy::Fcfs,
            PolicyName::ShortestPrompt => Policy::ShortestPrompt,
            PolicyName::Priority => Policy::Priority,
        }
    }
}

impl From<Switch> for PrefixCaching {
    fn from(switch: Switch) -> PrefixCaching {
        match switch {
            Switch::On => PrefixCaching::Enabled,
            Switch::Off => PrefixCaching::Disabled,
        }
    }
}

impl From<RouterName> for Router {
    fn from(name: RouterName) -> Router {
        match name {
            RouterName::RoundRobin => Router::RoundRobin,
            RouterName::LeastTokens => Router::LeastOutstandingTokens,
            RouterName::PrefixAffinity => Router::PrefixAffinity,
        }
    }
}
