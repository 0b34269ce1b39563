//! One server, or several behind a router.

use rooflut::deployment::ServedModel;
use rooflut::sim::cluster::{Cluster, Disaggregated, ServerPool};
use rooflut::sim::figures::Totals;
use rooflut::sim::load::Source;
use rooflut::sim::{Observer, SimConfig, SimReport, Simulator};

use crate::args::PolicyArgs;
use crate::disaggregation::Pools;
use crate::error::Error;

/// What serves a load.
pub(crate) enum Fleet<'m> {
    /// One server.
    One(Simulator<&'m ServedModel>),
    /// Several behind a router.
    Several(Cluster<&'m ServedModel>),
    /// Prefill and decode on servers of their own.
    Disaggregated(Box<Disaggregated<&'m ServedModel>>),
}

impl<'m> Fleet<'m> {
    /// As many servers as `args` ask for.
    pub(crate) fn try_new(
        model: &'m ServedModel,
        config: SimConfig,
        args: &PolicyArgs,
        pools: Option<&Pools>,
    ) -> Result<Fleet<'m>, Error> {
        let router = args.router;
        let pool = |replicas| ServerPool::new(model, config, replicas);
        let fleet = match (pools, args.replicas) {
            (Some(pools), _) => pools.link().and_then(|link| {
                let (prefill, decode) = (pool(pools.prefill), pool(pools.decode));
                Disaggregated::try_new(prefill, decode, router, link)
                    .map(|servers| Fleet::Disaggregated(Box::new(servers)))
            }),
            (None, 1) => Simulator::try_new(model, config).map(Fleet::One),
            (None, replicas) => {
                Cluster::try_new(model, config, replicas, router).map(Fleet::Several)
            }
        };
        Ok(fleet?)
    }

    /// Serves what comes from `source`, while `observer` looks on, and keeps no record.
    pub(crate) fn totals(&self, source: &mut impl Source, observer: &mut impl Observer) -> Totals {
        match self {
            Fleet::One(server) => server.serve(source, observer),
            Fleet::Several(servers) => servers.serve(source, observer),
            Fleet::Disaggregated(servers) => servers.serve(source, observer),
        }
    }

    /// Serves what comes from `source`, while `observer` looks on, and keeps a record of each request.
    pub(crate) fn report(
        &self,
        source: &mut impl Source,
        observer: &mut impl Observer,
    ) -> SimReport {
        match self {
            Fleet::One(server) => server.run_source(source, observer),
            Fleet::Several(servers) => servers.run_source(source, observer),
            Fleet::Disaggregated(servers) => servers.run_source(source, observer),
        }
    }
}
