//! Arguments of `rooflut run`: who is served first, and by which replica.

use clap::Args;
use rooflut::deployment::DeploymentBuilder;
use rooflut::sim::cluster::Router;
use rooflut::sim::{PrefixCaching, SchedulingPolicy};

/// Who is served first, and by which replica.
#[derive(Args)]
#[command(next_help_heading = "Policies")]
pub(crate) struct PolicyArgs {
    /// Who is admitted first: fcfs, shortest-prompt or priority.
    #[arg(long, value_name = "POLICY", default_value_t)]
    pub(crate) policy: SchedulingPolicy,
    /// Requests that may wait at a server (where there are prefill servers: at these, not at decode servers); who
    /// comes when so many do is rejected [default: no limit].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_waiting: Option<u32>,
    /// Whether freed KV blocks keep their contents: on or off.
    #[arg(long, value_name = "PREFIX_CACHING", default_value_t)]
    pub(crate) prefix_caching: PrefixCaching,
    /// Equal servers behind a router.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) replicas: u32,
    /// Which replica a request goes to: round-robin, least-tokens or prefix-affinity.
    #[arg(long, value_name = "ROUTER", default_value_t)]
    pub(crate) router: Router,
}

impl PolicyArgs {
    /// Sets the policies of each server of a deployment.
    pub(crate) fn apply(&self, deployment: DeploymentBuilder) -> DeploymentBuilder {
        deployment
            .policy(self.policy)
            .max_waiting(self.max_waiting)
            .prefix_caching(self.prefix_caching)
    }
}
