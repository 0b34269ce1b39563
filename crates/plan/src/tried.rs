//! Deployments that were simulated.

use std::cmp::Ordering;

use rooflut_scenario::Latency;

use crate::bounds::MARGIN;
use crate::limit::{Limit, Limits};
use crate::servers::Servers;
use crate::trial::Verdict;

/// A deployment that was simulated.
#[derive(Debug, Clone)]
pub(crate) struct Tried<'q> {
    pub(crate) servers: Servers<'q>,
    pub(crate) verdict: Verdict,
}

impl Tried<'_> {
    /// The cheaper first, then the one with more headroom, then the order of the choices.
    pub(crate) fn order(&self, other: &Tried<'_>) -> Ordering {
        let cost = self.servers.cost().total_cmp(&other.servers.cost());
        let headroom = other.verdict.headroom.total_cmp(&self.verdict.headroom);
        cost.then(headroom).then(self.servers.place().cmp(&other.servers.place()))
    }

    /// Returns the number of decode servers if a limit on TPOT is missed clearly: prefill servers have no part in it, but
    /// for a percent or two.
    pub(crate) fn too_few_decode(&self, limits: &Limits) -> Option<TooFew> {
        self.servers.prefill?;
        let misses = self.verdict.trials.iter().any(|trial| {
            let values = limits.limits().iter().zip(&trial.values);
            let mut of_tpot = values.filter(|(limit, _)| limit.latency() == Latency::Tpot);
            let is_beyond = |ms: f64, limit: &Limit| ms > MARGIN * limit.ms();
            limits.attainment().is_none() && of_tpot.any(|(limit, ms)| ms.is_some_and(|ms| is_beyond(ms, limit)))
        });
        misses.then_some(TooFew { variant: self.servers.variant.index, decode: self.servers.count })
    }

    /// Whether it comes closer to the limits than `other`, if neither meets them.
    pub(crate) fn is_nearer(&self, other: &Tried<'_>) -> bool {
        let is_served = self.verdict.is_served().cmp(&other.verdict.is_served());
        let headroom = self.verdict.headroom.total_cmp(&other.verdict.headroom);
        is_served.then(headroom).is_gt()
    }
}

/// Decode servers of a variant that are too few beside any number of prefill servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TooFew {
    pub(crate) variant: usize,
    pub(crate) decode: u32,
}
