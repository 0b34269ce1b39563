//! A few of many equal servers, which stand for all of them.

use rooflut::sim::cluster::Router;

use crate::generated::Sizes;
use crate::lengths::{Formula, LengthDistribution};
use crate::load::Load;
use crate::run::Run;
use crate::scenario::{Arrival, Workload};

/// The fewest servers of a sample that is not exact. Assumes: so many behave as any larger number under the same load
/// per server.
const FEW: u32 = 8;

impl Run {
    /// Returns a run of a few of the equal servers under their share of the load, if these servers are known to serve
    /// requests as all servers do; `None` otherwise.
    ///
    /// - Behind a round-robin router each of `n` servers gets every `n`-th request. Where requests do not wait for
    ///   answers, one server under every `n`-th request is served exactly as in the whole. Where they do not depend on
    ///   each other either, the gaps between these are sums of `n` gaps: gamma distributed with the shape `n k` if the
    ///   gaps are with the shape `k` (1 for Poisson arrivals).
    /// - Closed loops behind it are simulated on 8 to 16 servers, as many as divide the users best; that is not exact.
    /// - Requests that are sent again upset the order in which servers get them.
    /// - A router by outstanding tokens sends the next requests to the server whose batch just ended, the more of them
    ///   the more servers there are: no few servers stand for many.
    pub fn sampled(&self) -> Option<Run> {
        let Load::Generated(load) = self.load() else {
            return None;
        };
        let server = &self.scenario().server;
        let (servers, router) = (server.replicas(), server.router());
        let has_turns = load.workload.turns.is_some();
        let is_apart = self.pools().is_some() || self.is_mixed() || !self.outages().is_empty();
        if servers == 1 || is_apart || load.workload.retries() > 0 {
            return None;
        }
        match (load.workload.users, router) {
            (None, Router::RoundRobin) if has_turns => Some(self.every(servers)),
            (None, Router::RoundRobin) => Some(self.one_of(servers)),
            (Some(users), Router::RoundRobin) if servers > 2 * FEW && !has_turns => self.few_of(servers, users),
            _ => None,
        }
    }

    /// Returns one server whose queue never empties: it has a quarter more users than it serves at once, and they ask
    /// again without a pause. `None` for closed loops, sessions and traces, and for data-parallel ranks, separate prefill
    /// servers and unlike servers.
    pub fn backlogged(&self) -> Option<Run> {
        let Load::Generated(load) = self.load() else {
            return None;
        };
        let waits = load.workload.users.is_some() || load.workload.turns.is_some();
        if waits || self.pools().is_some() || self.is_mixed() || self.kind.dp() > 1 {
            return None;
        }
        let at_once = self.config().max_num_seqs;
        let users = at_once.saturating_add(at_once / 4).saturating_add(1);
        Some(self.with_load_of(1, 1, |workload| {
            (workload.rate, workload.arrival) = (None, None);
            (workload.burstiness, workload.users) = (None, Some(users));
            // More requests change the throughput by less than a percent.
            workload.requests = Some(users.saturating_mul(4));
        }))
    }

    /// Returns what `servers` prefill servers have of the load beside any decode servers: its requests with one output token
    /// each. `None` for closed loops, sessions and traces.
    pub fn of_prompts(&self, servers: u32) -> Option<Run> {
        let one = Formula::Fixed(1);
        let mut run = self.clone();
        let Load::Generated(load) = &mut run.load else {
            return None;
        };
        if load.workload.users.is_some() || load.workload.turns.is_some() {
            return None;
        }
        load.output = Sizes::Formula(one, one.lengths().ok()?);
        load.workload.output = Some(LengthDistribution::Formula(one));
        run.scenario.workload = load.workload.clone();
        Some(run.on_replicas(servers))
    }

    /// Servers that the sample stands for.
    pub fn servers(&self) -> f64 {
        self.share.stands_for * f64::from(self.replicas())
    }

    /// One of `servers`, under every such request.
    fn every(&self, servers: u32) -> Run {
        let mut one = self.with_load_of(1, servers, |_| ());
        one.share.every = servers;
        one
    }

    /// One of `servers`, under requests with as many gaps between them.
    fn one_of(&self, servers: u32) -> Run {
        self.with_load_of(1, servers, |workload| {
            workload.rate = Some(workload.rate() / f64::from(servers));
            let shape = match workload.arrival() {
                Arrival::Constant => return,
                Arrival::Poisson => 1.0,
                Arrival::Gamma => workload.burstiness.unwrap_or(1.0),
            };
            workload.arrival = Some(Arrival::Gamma);
            workload.burstiness = Some(shape * f64::from(servers));
        })
    }

    /// Some of `servers`, under their share of the users; `None` for too few users to divide.
    fn few_of(&self, servers: u32, users: u32) -> Option<Run> {
        let share = |few: &u32| f64::from(users) * f64::from(*few) / f64::from(servers);
        let error = |few: &u32| (share(few).round() / share(few) - 1.0).abs();
        let few = (FEW..=2 * FEW).min_by(|a, b| error(a).total_cmp(&error(b)))?;
        let users = share(&few).round() as u32;
        (users > 0).then(|| self.with_load_of(few, servers, |workload| workload.users = Some(users)))
    }

    /// The first `few` of `servers` under another load.
    fn with_load_of(&self, few: u32, servers: u32, change: impl FnOnce(&mut Workload)) -> Run {
        let mut run = self.clone();
        run.share.stands_for = f64::from(servers) / f64::from(few);
        change(&mut run.scenario.workload);
        if let Load::Generated(load) = &mut run.load {
            load.workload = run.scenario.workload.clone();
        }
        run.on_replicas(few)
    }

    /// Returns the run on a number of servers, none of which is lost; one has no router.
    fn on_replicas(mut self, servers: u32) -> Run {
        let server = &mut self.scenario.server;
        server.lose = None;
        server.replicas = Some(servers);
        if servers == 1 {
            (server.replicas, server.router) = (None, None);
        }
        self
    }
}
