//! One server, or several behind a router.

use rooflut::sim::{Cluster, Observer, SimConfig, SimReport, Simulator, Source, Totals};
use rooflut::step::Tally;

use crate::args::PolicyArgs;
use crate::error::Error;

/// What serves a load.
pub(crate) enum Fleet<'m> {
    /// One server.
    One(Simulator<&'m Tally<'m>>),
    /// Several behind a router.
    Several(Cluster<&'m Tally<'m>>),
}

impl<'m> Fleet<'m> {
    /// As many servers as `args` ask for.
    pub(crate) fn try_new(
        model: &'m Tally<'m>,
        config: SimConfig,
        args: &PolicyArgs,
    ) -> Result<Fleet<'m>, Error> {
        let fleet = match args.replicas {
            1 => Simulator::try_new(model, config).map(Fleet::One),
            replicas => {
                let router = args.router.into();
                Cluster::try_new(model, config, replicas, router).map(Fleet::Several)
            }
        };
        fleet.map_err(Error::Sim)
    }

    /// Serves what comes from `source`, while `observer` looks on, and keeps no record.
    pub(crate) fn totals(&self, source: &mut impl Source, observer: &mut impl Observer) -> Totals {
        match self {
            Fleet::One(server) => server.serve(source, observer),
            Fleet::Several(servers) => servers.serve(source, observer),
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
        }
    }
}
