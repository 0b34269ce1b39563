//! Kinds of servers that can serve the model, and their bounds.

use rooflut_scenario::{Latency, Run};

use crate::bounds::{Capacity, Lengths, Unloaded};
use crate::limit::{Limit, Limits};
use crate::space::Choice;

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
    /// The limits, and the least that their figures can be on an unloaded server, milliseconds; empty where step times
    /// do not tell it.
    least: Vec<(Limit, f64)>,
}

/// The work of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Prefill and decode.
    Whole,
    /// Prefill alone.
    Prefill,
    /// Decode alone.
    Decode,
}

impl Work {
    /// Whether the latency depends on this work alone.
    fn bounds(self, latency: Latency) -> bool {
        match self {
            Work::Whole => true,
            Work::Prefill => latency == Latency::Ttft,
            Work::Decode => latency == Latency::Tpot,
        }
    }
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
        Bounds {
            served_share,
            replicas: servers(capacity.whole),
            hint: asked.map_or(1, |rate| (rate / capacity.whole).ceil() as u32),
            pools: [servers(capacity.prefill), servers(capacity.decode)],
            least: least.collect(),
        }
    }

    /// Returns the largest headroom that an unloaded server leaves, which does this work.
    pub(crate) fn headroom(&self, work: Work) -> f64 {
        let bounded = self.least.iter().filter(|(limit, _)| work.bounds(limit.latency()));
        bounded.map(headroom).min_by(f64::total_cmp).unwrap_or(1.0)
    }

    /// Returns the limit that an unloaded server misses by the largest share, which does this work, and its latency in
    /// milliseconds.
    pub(crate) fn missed(&self, work: Work) -> Option<(Limit, f64)> {
        let bounded = self.least.iter().filter(|(limit, _)| work.bounds(limit.latency()));
        let tightest = bounded.min_by(|a, b| headroom(a).total_cmp(&headroom(b)));
        tightest.filter(|tightest| headroom(tightest) < 0.0).copied()
    }
}

fn headroom((limit, least_ms): &(Limit, f64)) -> f64 {
    1.0 - least_ms / limit.ms()
}

impl Variant {
    /// Returns the cost of this number of servers.
    pub(crate) fn cost(&self, servers: u32) -> f64 {
        self.weight * f64::from(servers)
    }

    /// Whether its servers can be divided into prefill and decode servers.
    pub(crate) fn divides(&self) -> bool {
        let config = self.run.config();
        config.kv_groups.states == 0 && config.speculation.is_none()
    }

    /// Whether its servers can decode what `prefill` servers send: its formats and limits are the same, and only GPUs and
    /// parallelism differ.
    pub(crate) fn pairs_with(&self, prefill: &Variant) -> bool {
        let settings =
            |choice: &Choice| (choice.dtype, choice.kv_dtype, choice.max_num_seqs, choice.max_num_batched_tokens);
        settings(&self.choice) == settings(&prefill.choice)
    }

    /// Returns the GPUs of a server.
    pub(crate) fn gpus(&self) -> u32 {
        self.run.placement().parallelism.gpus()
    }

    /// Returns the largest number of servers within a number of GPUs.
    pub(crate) fn max_servers(&self, max_gpus: u32) -> u32 {
        max_gpus / self.gpus().max(1)
    }
}
