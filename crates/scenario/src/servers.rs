//! The servers of a run.

use rooflut::Invalid;
use rooflut::sim::cluster::{Cluster, Disaggregated, KvLink, Lockstep, Router, ServerPool};
use rooflut::sim::figures::Totals;
use rooflut::sim::load::Source;
use rooflut::sim::{Observer, Simulator, StepTimeError};
use rooflut::step::LatencyModel;

use crate::outage::Outage;

/// The servers of a run.
pub(crate) enum Servers<M> {
    /// A single server.
    One(Simulator<M>),
    /// Data-parallel ranks that step together.
    Ranks(Lockstep<M>),
    /// Servers behind a router.
    Several(Cluster<M>),
    /// Prefill and decode on servers of their own.
    Disaggregated(Box<Disaggregated<M>>),
}

impl<M: LatencyModel + Clone> Servers<M> {
    /// Creates the servers of `pools`; with a link between them, these are prefill and decode servers.
    pub(crate) fn try_new(
        pools: Vec<ServerPool<M>>,
        router: Router,
        link: Option<KvLink>,
        outages: &[Outage],
    ) -> Result<Servers<M>, Invalid> {
        let outages = outages.iter().map(Outage::of_cluster).collect::<Result<Vec<_>, _>>()?;
        match (link, pools.as_slice()) {
            (Some(link), [prefill, decode]) => {
                let servers = Disaggregated::try_new(prefill.clone(), decode.clone(), router, link)?;
                Ok(Servers::Disaggregated(Box::new(servers.with_outages(outages)?)))
            }
            (None, [ServerPool { model, config, replicas: 1, ranks, .. }]) if outages.is_empty() => match ranks {
                1 => Simulator::try_new(model.clone(), *config).map(Servers::One),
                ranks => Lockstep::try_new(model.clone(), *config, *ranks).map(Servers::Ranks),
            },
            _ => Ok(Servers::Several(Cluster::try_of(pools, router)?.with_outages(outages)?)),
        }
    }

    /// Serves the requests of `source` without a record of each.
    pub(crate) fn totals(
        &self,
        source: &mut (impl Source + ?Sized),
        observer: &mut impl Observer,
    ) -> Result<Totals, StepTimeError> {
        match self {
            Servers::One(server) => server.serve(source, observer),
            Servers::Ranks(ranks) => ranks.serve(source, observer),
            Servers::Several(servers) => servers.serve(source, observer),
            Servers::Disaggregated(servers) => servers.serve(source, observer),
        }
    }
}
