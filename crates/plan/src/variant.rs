//! Kinds of servers that can serve the model, and their bounds.

use rooflut_scenario::{Error, Run, Server};

use crate::bounds::{Capacity, Lengths, Unloaded};
use crate::limit::{Limit, Limits};
use crate::space::Choice;

/// The servers of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Servers {
    /// Equal servers, which prefill and decode.
    Replicas(u32),
    /// Prefill and decode servers.
    Pools { prefill: u32, decode: u32 },
}

impl Servers {
    pub(crate) fn count(self) -> u32 {
        match self {
            Servers::Replicas(count) => count,
            Servers::Pools { prefill, decode } => prefill + decode,
        }
    }
}

/// The links between prefill and decode servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    pub(crate) bandwidth_gb_per_s: f64,
    pub(crate) latency_us: f64,
}

/// A kind of server that can serve the model.
#[derive(Debug)]
pub(crate) struct Variant {
    /// Its place in the order of the choices.
    pub(crate) index: usize,
    pub(crate) choice: Choice,
    /// Price of a server, by which deployments are ordered.
    pub(crate) weight: f64,
    /// One server under the load.
    pub(crate) run: Run,
    pub(crate) bounds: Bounds,
}

/// Bounds on the deployments of one kind of server.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// The smallest number of servers that may keep up with the load.
    pub(crate) replicas: u32,
    /// A number of servers that is about what is needed.
    pub(crate) hint: u32,
    /// The smallest numbers of prefill and of decode servers that may.
    pub(crate) pools: [u32; 2],
    /// Share of the requests that must be served: below 1 if clients give up and a share may miss the limits.
    pub(crate) served_share: f64,
    /// The largest headroom that an unloaded server leaves, and the limit that bounds it.
    pub(crate) headroom: f64,
    /// The limit that an unloaded server misses, and its latency in milliseconds.
    pub(crate) missed: Option<(Limit, f64)>,
}

impl Bounds {
    /// Returns the bounds for a load of `lengths`, where they are known.
    pub(crate) fn of(run: &Run, lengths: Option<&Lengths>, limits: &Limits) -> Bounds {
        let capacity = lengths.map_or(Capacity::UNKNOWN, |lengths| Capacity::of(run, lengths));
        let gives_up = run.config().patience_ns.is_some();
        let served_share = limits.attainment().filter(|_| gives_up).unwrap_or(1.0);
        let rate = served_share * lengths.map_or(0.0, |lengths| lengths.rate);
        // The rate at which users would ask if they waited as long for each answer as the limits allow.
        let asked = lengths.and_then(|lengths| lengths.asked_rate(run, limits));
        // A saturating conversion: more servers than any limit where the rate is infinite.
        let servers = |capacity: f64| ((rate / capacity).ceil() as u32).max(1);
        let unloaded = lengths.and_then(|lengths| Unloaded::of(run, lengths)).filter(|_| limits.attainment().is_none());
        let least = unloaded.iter().flat_map(|unloaded| {
            limits.limits().iter().map(|limit| {
                let ms = unloaded.least_ms(run, limit.latency(), limit.figure());
                (*limit, ms)
            })
        });
        let headroom = |&(limit, ms): &(Limit, f64)| 1.0 - ms / limit.ms();
        let tightest = least.min_by(|a, b| headroom(a).total_cmp(&headroom(b)));
        Bounds {
            served_share,
            replicas: servers(capacity.whole),
            hint: asked.map_or(1, |rate| (rate / capacity.whole).ceil() as u32),
            pools: [servers(capacity.prefill), servers(capacity.decode)],
            headroom: tightest.as_ref().map_or(1.0, headroom),
            missed: tightest.filter(|tightest| headroom(tightest) < 0.0),
        }
    }
}

impl Variant {
    /// Returns the cost of this number of servers.
    pub(crate) fn cost(&self, servers: u32) -> f64 {
        self.weight * f64::from(servers)
    }

    /// Whether its servers can be divided into prefill and decode servers.
    pub(crate) fn divides(&self) -> bool {
        let config = self.run.config();
        let states = config.kv_groups.states > 0;
        self.choice.dp == 1 && config.speculation.is_none() && !states
    }

    /// Whether several servers of it are modelled.
    pub(crate) fn multiplies(&self) -> bool {
        self.choice.dp == 1
    }

    /// Returns the GPUs of a server.
    pub(crate) fn gpus(&self) -> u32 {
        self.run.placement().parallelism.gpus()
    }

    /// Returns the largest number of servers within a number of GPUs, as far as several are modelled.
    pub(crate) fn max_servers(&self, max_gpus: u32) -> u32 {
        let most = if self.multiplies() { u32::MAX } else { 1 };
        most.min(max_gpus / self.gpus().max(1))
    }

    /// Returns the run on these servers.
    pub(crate) fn on(&self, servers: Servers, links: Option<Links>) -> Result<Run, Error> {
        let mut counts = Server::default();
        match servers {
            Servers::Replicas(replicas) => counts.replicas = Some(replicas),
            Servers::Pools { prefill, decode } => {
                counts.prefill_replicas = Some(prefill);
                counts.decode_replicas = Some(decode);
                counts.link_bandwidth = links.map(|links| links.bandwidth_gb_per_s);
                counts.link_latency = links.map(|links| links.latency_us);
            }
        }
        self.run.with_servers(&counts)
    }
}
