//! The servers of a run.

use rooflut::Invalid;
use rooflut::sim::cluster::{Cluster, Disaggregated, Lockstep, ServerPool};
use rooflut::sim::figures::Totals;
use rooflut::sim::load::Source;
use rooflut::sim::{Observer, SimConfig, Simulator, StepTimeError};
use rooflut::step::LatencyModel;

use crate::pools::Pools;
use crate::scenario::Server;

/// The servers of a run.
pub(crate) enum Fleet<M> {
    /// A single server.
    One(Simulator<M>),
    /// Data-parallel ranks that step together.
    Ranks(Lockstep<M>),
    /// Replicas behind a router.
    Several(Cluster<M>),
    /// Prefill and decode on servers of their own.
    Disaggregated(Box<Disaggregated<M>>),
}

impl<M: LatencyModel + Clone> Fleet<M> {
    pub(crate) fn try_new(
        model: M,
        config: SimConfig,
        dp: u32,
        server: &Server,
        pools: Option<&Pools>,
    ) -> Result<Fleet<M>, Invalid> {
        let router = server.router();
        let pool = |replicas| ServerPool::new(model.clone(), config, replicas);
        match (pools, server.replicas()) {
            (Some(pools), _) => {
                let (prefill, decode) = (pool(pools.prefill), pool(pools.decode));
                let servers = Disaggregated::try_new(prefill, decode, router, pools.link()?)?;
                Ok(Fleet::Disaggregated(Box::new(servers)))
            }
            (None, 1) if dp > 1 => Lockstep::try_new(model, config, dp).map(Fleet::Ranks),
            (None, 1) => Simulator::try_new(model, config).map(Fleet::One),
            (None, replicas) => Cluster::try_new(model, config, replicas, router).map(Fleet::Several),
        }
    }

    /// Serves the requests of `source` without a record of each.
    pub(crate) fn totals(
        &self,
        source: &mut (impl Source + ?Sized),
        observer: &mut impl Observer,
    ) -> Result<Totals, StepTimeError> {
        match self {
            Fleet::One(server) => server.serve(source, observer),
            Fleet::Ranks(ranks) => ranks.serve(source, observer),
            Fleet::Several(servers) => servers.serve(source, observer),
            Fleet::Disaggregated(servers) => servers.serve(source, observer),
        }
    }
}
