//! Deployments that meet the limits in the runs of a search, and miss them in those of their commands.

use std::fmt;

use rooflut_scenario::grouped;

use crate::servers::Servers;
use crate::trial::Trial;
use crate::tried::Tried;

/// Refuted deployments with which the search leaves a kind out: the fewest, if their runs took `MOST_REQUESTS`, and the
/// most. The runs of commands are long, and each server more makes them longer.
const DEPLOYMENTS: [u32; 2] = [2, 3];
/// About 5 seconds of a processor core.
const MOST_REQUESTS: u64 = 500_000;

/// The refuted deployments of a kind of servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refuted<'q> {
    /// The last one.
    pub(crate) servers: Servers<'q>,
    misses: Misses,
}

/// Why a kind of servers was left out after some of its deployments had been simulated.
#[derive(Debug, Clone, Copy)]
pub struct Misses {
    /// Number of deployments.
    deployments: u32,
    /// Requests of the runs of all of them.
    simulated: u64,
    /// The smallest and the largest number of servers.
    counts: [u32; 2],
    /// Requests of the last deployment that no number of servers serves.
    unservable: u64,
    /// Requests of the last deployment that were rejected, or abandoned where this is a miss.
    rejected: u64,
    /// All requests of the last deployment.
    requests: u64,
    /// Whether the servers are decode servers.
    is_divided: bool,
}

impl<'q> Refuted<'q> {
    /// Adds a deployment to those of its kind.
    pub(crate) fn add(all: &mut Vec<Refuted<'q>>, tried: &Tried<'q>) {
        let servers = tried.servers;
        let over_seeds = |of: fn(&Trial) -> u64| tried.verdict.trials.iter().map(of).sum();
        let simulated = over_seeds(|trial| trial.requests);
        let new = Misses {
            deployments: 1,
            simulated,
            counts: [servers.count; 2],
            unservable: over_seeds(|trial| trial.unservable),
            rejected: over_seeds(|trial| trial.rejected),
            requests: simulated,
            is_divided: servers.prefill.is_some(),
        };
        match all.iter_mut().find(|refuted| refuted.servers.kind() == servers.kind()) {
            None => all.push(Refuted { servers, misses: new }),
            Some(known) => {
                let before = known.misses;
                let [least, most] = before.counts;
                let counts = [least.min(servers.count), most.max(servers.count)];
                let (deployments, simulated) = (before.deployments + 1, before.simulated + simulated);
                *known = Refuted { servers, misses: Misses { deployments, simulated, counts, ..new } };
            }
        }
    }

    /// Returns why the search leaves the kind out, if it does.
    pub(crate) fn left_out(&self) -> Option<Misses> {
        let Misses { deployments, simulated, unservable, .. } = self.misses;
        let [fewest, most] = DEPLOYMENTS;
        let is_enough = deployments >= most || deployments >= fewest && simulated >= MOST_REQUESTS;
        (unservable > 0 || is_enough).then_some(self.misses)
    }
}

impl fmt::Display for Misses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [least, most] = self.counts;
        let role = if self.is_divided { "decode servers" } else { "servers" };
        let requests = grouped(self.requests);
        if self.unservable > 0 {
            return write!(
                f,
                "{role} of any number reject {} of {requests} requests as too long; runs of other kinds may be too short \
                 to have such a request; bound the lengths, as in lognormal:300,1@1..8192",
                grouped(self.unservable)
            );
        }
        write!(
            f,
            "{least} to {most} {role} meet the limits in the runs of the search and miss them in the longer ones of their \
             commands; "
        )?;
        match self.rejected {
            0 => f.write_str("the figures are too close to the limits to tell how many meet them"),
            rejected => write!(
                f,
                "with {most}, {} of {requests} requests are rejected or abandoned; a share of requests that must meet \
                 the limits, an attainment, allows for a few",
                grouped(rejected)
            ),
        }
    }
}
