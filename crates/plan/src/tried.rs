//! Deployments that were simulated.

use std::cmp::Ordering;

use rooflut_scenario::Latency;

use crate::bounds::MARGIN;
use crate::limit::{Limit, Limits};
use crate::trial::Verdict;
use crate::variant::{Servers, Variant};

/// A deployment that was simulated.
#[derive(Debug, Clone)]
pub(crate) struct Tried<'q> {
    pub(crate) variant: &'q Variant,
    pub(crate) servers: Servers,
    pub(crate) verdict: Verdict,
}

impl Tried<'_> {
    pub(crate) fn cost(&self) -> f64 {
        self.variant.cost(self.servers.count())
    }

    /// Returns its kind: equal servers, divided into pools or not.
    pub(crate) fn kind(&self) -> (usize, bool) {
        let is_divided = matches!(self.servers, Servers::Pools { .. });
        (self.variant.index, is_divided)
    }

    /// The cheaper first, then the one with more headroom, then the order of the choices.
    pub(crate) fn order(&self, other: &Tried<'_>) -> Ordering {
        let cost = self.cost().total_cmp(&other.cost());
        let headroom = other.verdict.headroom.total_cmp(&self.verdict.headroom);
        let place = |tried: &Tried<'_>| (tried.variant.index, tried.servers);
        cost.then(headroom).then(place(self).cmp(&place(other)))
    }

    /// Returns the number of decode servers if a limit on TPOT is missed clearly: prefill servers have no part in it, but
    /// for a percent or two.
    pub(crate) fn too_few_decode(&self, limits: &Limits) -> Option<TooFew> {
        let Servers::Pools { decode, .. } = self.servers else {
            return None;
        };
        let misses = self.verdict.trials.iter().any(|trial| {
            let values = limits.limits().iter().zip(&trial.values);
            let mut of_tpot = values.filter(|(limit, _)| limit.latency() == Latency::Tpot);
            let is_beyond = |ms: f64, limit: &Limit| ms > MARGIN * limit.ms();
            limits.attainment().is_none() && of_tpot.any(|(limit, ms)| ms.is_some_and(|ms| is_beyond(ms, limit)))
        });
        misses.then_some(TooFew { variant: self.variant.index, decode })
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
