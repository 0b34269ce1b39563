//! Prefill and decode servers, as many of each as serve the highest rate.

use rooflut::sim::{Content, Request};
use rooflut_scenario::{Error, Pools, Run, Server};
use serde::Serialize;

use crate::bounds::{Capacity, MARGIN};
use crate::limit::Limits;
use crate::saturate::rates::Rates;

/// Divisions of as many servers as the scenario has into prefill and decode servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Division {
    /// Prefill and decode servers.
    pub servers: u32,
    /// Requests per second that one prefill server can serve, by step times and its link; null where prompts may be
    /// found in the cache, as step times do not say how many.
    pub prefill_requests_per_s: Option<f64>,
    /// Requests per second that one decode server can serve, by step times.
    pub decode_requests_per_s: Option<f64>,
    /// Prefill servers per decode server at which both pools can serve the same rate.
    pub ratio: Option<f64>,
    /// The division with the highest rate; null if none meets the limits.
    pub best: Option<Split>,
    /// All divisions, by the number of prefill servers.
    pub splits: Vec<Split>,
}

/// One division.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Split {
    /// Prefill servers.
    pub prefill_replicas: u32,
    /// Decode servers.
    pub decode_replicas: u32,
    /// Rate that the pools cannot exceed in the long run, by step times and links; null where it is not known.
    pub bound: Option<f64>,
    /// The highest rate that meets the limits; null for a division that does not serve more than another one.
    pub rate: Option<f64>,
}

/// Rates that servers cannot exceed in the long run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolRates {
    given: Pools,
    /// One prefill server with its link, requests per second.
    prefill: f64,
    /// One decode server, requests per second.
    decode: f64,
    /// Whether every prompt is computed in full.
    is_unique: bool,
}

impl PoolRates {
    /// Returns the bounds of the pools of `run`; `None` where servers do both.
    pub(crate) fn of(run: &Run, capacity: &Capacity, requests: &[Request]) -> Option<PoolRates> {
        let given = *run.pools()?;
        let tokens: u64 = requests.iter().map(|request| u64::from(request.prompt_tokens)).sum();
        let bytes = given.bytes_per_token * tokens as f64 / requests.len().max(1) as f64;
        let link = given.bandwidth_gb_per_s * 1e9 / bytes;
        let is_unique = |request: &Request| matches!(request.content, Content::Unique);
        Some(PoolRates {
            given,
            prefill: capacity.prefill.min(link * MARGIN),
            decode: capacity.decode,
            is_unique: requests.iter().all(is_unique),
        })
    }

    /// The servers of the scenario.
    pub(crate) fn given(&self) -> [u32; 2] {
        [self.given.prefill, self.given.decode]
    }

    /// Returns the bound of these prefill and decode servers.
    pub(crate) fn bound(&self, [prefill, decode]: [u32; 2]) -> f64 {
        f64::min(self.prefill * f64::from(prefill), self.decode * f64::from(decode))
    }

    /// Finds the division with the highest rate; `highest` is the highest step of the given one, whose runs `rates` has.
    ///
    /// Divisions are tried in descending order of their bounds, each only at rates above the highest so far and below its
    /// bound.
    pub(crate) fn divide(
        &self,
        rates: &mut Rates<'_>,
        highest: Option<i32>,
        limits: &Limits,
    ) -> Result<Division, Error> {
        let scale = rates.scale;
        let servers = self.given.prefill + self.given.decode;
        let known = |rate: f64| rate.is_finite().then_some(rate);
        let splits = (1..servers).map(|prefill| {
            let counts = [prefill, servers - prefill];
            let rate = highest.filter(|_| counts == self.given());
            Split {
                prefill_replicas: prefill,
                decode_replicas: servers - prefill,
                bound: known(self.bound(counts)),
                rate: rate.map(|step| scale.rate(step)),
            }
        });
        let mut splits: Vec<Split> = splits.collect();
        let bound = |split: &Split| split.bound.unwrap_or(f64::INFINITY);
        splits.sort_by(|a, b| bound(b).total_cmp(&bound(a)));
        let mut best = highest;
        for split in &mut splits {
            let counts = [split.prefill_replicas, split.decode_replicas];
            if counts == self.given() {
                continue;
            }
            let steps = scale.within(bound(split));
            let first = best.map_or(*steps.start(), |best| best + 1);
            let run = rates.run.with_servers(&self.servers(counts))?;
            let mut others = Rates { run: &run, simulations: 0, ..*rates };
            let found = others.highest(first..=*steps.end(), first, limits)?;
            rates.simulations += others.simulations;
            best = found.or(best);
            split.rate = found.map(|step| scale.rate(step));
        }
        splits.sort_by_key(|split| split.prefill_replicas);
        let served = splits.iter().filter(|split| split.rate.is_some());
        let [prefill, decode] = [self.prefill, self.decode].map(|rate| known(rate / MARGIN).filter(|_| self.is_unique));
        Ok(Division {
            servers,
            prefill_requests_per_s: prefill,
            decode_requests_per_s: decode,
            ratio: prefill.zip(decode).map(|(prefill, decode)| decode / prefill),
            best: served.max_by(|a, b| a.rate.unwrap_or(0.0).total_cmp(&b.rate.unwrap_or(0.0))).copied(),
            splits,
        })
    }

    fn servers(&self, [prefill, decode]: [u32; 2]) -> Server {
        let mut server = Server::default();
        server.prefill_replicas = Some(prefill);
        server.decode_replicas = Some(decode);
        server.link_bandwidth = Some(self.given.bandwidth_gb_per_s);
        server.link_latency = Some(self.given.latency_us);
        server
    }
}
