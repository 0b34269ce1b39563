//! Equal servers.

use crate::error::Invalid;
use crate::sim::SimConfig;

/// Equal servers of a fleet.
///
/// A server is one engine, or several data-parallel ranks that begin and end each step together
/// ([`Lockstep`](super::Lockstep)). The `replica` of records counts ranks; a server of one rank counts one.
///
/// ```
/// use rooflut::sim::SimConfig;
/// use rooflut::sim::cluster::ServerPool;
/// # use rooflut::step::{LatencyModel, StepBatch};
/// # use rooflut::units::Seconds;
/// # struct Linear;
/// # impl LatencyModel for Linear {
/// #     fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
/// #         Seconds::from_us(batch.tokens() as f64)
/// #     }
/// # }
/// // Three servers of eight ranks: 24 replicas.
/// let pool = ServerPool::new(Linear, SimConfig::new(8_192, 1_000), 3).with_ranks(8);
/// assert_eq!((pool.replicas, pool.ranks), (3, 8));
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ServerPool<M> {
    /// Latency model of each server.
    pub model: M,
    /// Limits of each server, or of each of its ranks.
    pub config: SimConfig,
    /// Number of servers.
    pub replicas: u32,
    /// Data-parallel ranks of each server.
    pub ranks: u32,
}

impl<M> ServerPool<M> {
    /// Creates a pool of `replicas` servers of one rank with the limits `config` each.
    pub const fn new(model: M, config: SimConfig, replicas: u32) -> ServerPool<M> {
        ServerPool { model, config, replicas, ranks: 1 }
    }

    /// Sets the number of data-parallel ranks of each server.
    #[must_use]
    pub const fn with_ranks(mut self, ranks: u32) -> ServerPool<M> {
        self.ranks = ranks;
        self
    }

    /// Checks that there are servers and that they can run steps; `replicas` is the name of their number in messages.
    pub(super) fn validate(&self, replicas: &'static str) -> Result<(), Invalid> {
        self.config.validate()?;
        if self.replicas == 0 {
            return Err(Invalid::zero(replicas));
        }
        if self.ranks == 0 {
            return Err(Invalid::zero("ranks"));
        }
        if self.ranks > 1 { self.validate_lockstep() } else { Ok(()) }
    }

    /// Checks that the servers can step together.
    pub(super) fn validate_lockstep(&self) -> Result<(), Invalid> {
        if self.config.is_pipelined() {
            let stages = self.config.pipeline_parallel_size;
            let text = "expected one pipeline stage each, found {}, which is not modelled; use replicas";
            return Err(Invalid::new("data-parallel ranks", text, &[stages.into()]));
        }
        Ok(())
    }

    /// Returns the number of ranks of all servers.
    pub(super) fn all_ranks(&self) -> u32 {
        self.replicas.saturating_mul(self.ranks)
    }
}
