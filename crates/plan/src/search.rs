//! The search for the cheapest deployments.

use std::cmp::Ordering;

use rooflut_scenario::Error;

use crate::ladder::Ladder;
use crate::limit::Limits;
use crate::recovery::Recovery;
use crate::trial::{Trial, Verdict};
use crate::tried::{TooFew, Tried};
use crate::variant::{Links, Servers, Variant};

/// Deployments that differ in the number of their servers.
#[derive(Debug, Clone, Copy)]
struct Family<'q> {
    variant: &'q Variant,
    /// Prefill servers beside the decode servers whose number differs; `None` for servers that do both.
    prefill: Option<u32>,
    ladder: Ladder,
    is_new: bool,
}

impl<'q> Family<'q> {
    /// Servers that prefill and decode.
    fn whole(variant: &'q Variant, max_gpus: u32) -> Family<'q> {
        let last = variant.max_servers(max_gpus);
        Family {
            variant,
            prefill: None,
            ladder: Ladder::new(variant.bounds.replicas, variant.bounds.hint, last),
            is_new: true,
        }
    }

    /// Decode servers beside `prefill` prefill servers; `None` if these leave no GPU.
    fn divided(variant: &'q Variant, prefill: u32, max_gpus: u32) -> Option<Family<'q>> {
        let last = variant.max_servers(max_gpus).checked_sub(prefill)?;
        let [_, decode] = variant.bounds.pools;
        Some(Family { variant, prefill: Some(prefill), ladder: Ladder::new(decode, decode, last), is_new: true })
    }

    fn cost(&self, count: u32) -> f64 {
        let prefill = self.prefill.unwrap_or_default();
        self.variant.cost(prefill.saturating_add(count))
    }

    /// Returns the lowest cost at which it may meet the limits; `None` if it is searched through.
    fn least_cost(&self) -> Option<f64> {
        self.ladder.least().map(|least| self.cost(least))
    }

    /// Returns the largest number of servers that does not cost more than `cost`.
    fn affordable(&self, cost: f64) -> u32 {
        // Prices are divided as they were multiplied, to the last digits.
        let servers = (cost / self.variant.weight * (1.0 + 1e-12)).floor() as u32;
        let counted = servers.saturating_sub(self.prefill.unwrap_or_default());
        counted.min(self.ladder.last())
    }

    /// Notes the decode servers that are too few.
    fn rule_out(&mut self, too_few: &[TooFew]) {
        let own = too_few.iter().filter(|few| self.prefill.is_some() && few.variant == self.variant.index);
        if let Some(few) = own.map(|few| few.decode).max() {
            self.ladder.rule_out(few);
        }
    }

    fn servers(&self, count: u32) -> Servers {
        match self.prefill {
            None => Servers::Replicas(count),
            Some(prefill) => Servers::Pools { prefill, decode: count },
        }
    }
}

/// The runs of a search.
#[derive(Debug)]
pub(crate) struct Search<'q> {
    pub(crate) limits: &'q Limits,
    pub(crate) links: Option<Links>,
    pub(crate) seeds: Vec<u64>,
    pub(crate) max_gpus: u32,
    /// Number of answers, each of another kind of server.
    pub(crate) count: usize,
    /// Runs so far.
    pub(crate) simulations: u64,
    /// The cheapest deployments that meet the limits, the best first.
    pub(crate) answers: Vec<Tried<'q>>,
    /// The deployment that comes closest to the limits without meeting them.
    pub(crate) nearest: Option<Tried<'q>>,
    pub(crate) recovery: Recovery,
}

impl<'q> Search<'q> {
    /// Finds the cheapest deployments, those of equal cost by their headroom.
    ///
    /// The family whose bounds allow the lowest cost is tried next, until none can beat the answers that are known.
    pub(crate) fn run(&mut self, variants: &'q [Variant]) -> Result<(), Error> {
        let mut families = self.families(variants);
        let mut too_few = Vec::new();
        loop {
            families.retain(|family| self.is_open(family));
            let key = |family: &Family<'_>| (family.variant.index, family.prefill);
            let order = |a: &Family<'_>, b: &Family<'_>| {
                let cost = |family: &Family<'_>| family.least_cost().unwrap_or(f64::INFINITY);
                cost(a).total_cmp(&cost(b)).then(key(a).cmp(&key(b)))
            };
            let Some(next) = families.iter_mut().min_by(|a, b| order(a, b)) else {
                return Ok(());
            };
            let wider = next
                .prefill
                .filter(|_| next.is_new)
                .and_then(|prefill| Family::divided(next.variant, prefill.checked_add(1)?, self.max_gpus));
            too_few.extend(self.climb(next)?);
            families.extend(wider);
            for family in &mut families {
                family.rule_out(&too_few);
            }
        }
    }

    /// The families of all kinds of servers, those of pools with the fewest prefill servers.
    fn families(&self, variants: &'q [Variant]) -> Vec<Family<'q>> {
        let able = variants.iter().filter(|variant| variant.bounds.missed.is_none());
        let families = able.flat_map(|variant| {
            let divides = self.links.is_some() && variant.divides();
            let [prefill, _] = variant.bounds.pools;
            let divided = divides.then(|| Family::divided(variant, prefill, self.max_gpus));
            [Some(Family::whole(variant, self.max_gpus)), divided.flatten()]
        });
        families.flatten().collect()
    }

    /// The last of the answers that are asked for, if so many are known.
    fn worst(&self) -> Option<&Tried<'q>> {
        self.answers.get(self.count.checked_sub(1)?)
    }

    /// Returns the answer that a family must beat to be one: that of its own kind, or the last that is asked for.
    fn to_beat(&self, family: &Family<'_>) -> Option<&Tried<'q>> {
        let kind = (family.variant.index, family.prefill.is_some());
        let own = self.answers.iter().find(|answer| answer.kind() == kind);
        let known = own.into_iter().chain(self.worst());
        known.min_by(|a, b| a.order(b))
    }

    /// Whether a family may beat the answers that are known.
    fn is_open(&self, family: &Family<'_>) -> bool {
        let Some(cost) = family.least_cost() else {
            return false;
        };
        self.to_beat(family).is_none_or(|known| match cost.total_cmp(&known.cost()) {
            Ordering::Less => true,
            Ordering::Equal => family.variant.bounds.headroom > known.verdict.headroom,
            Ordering::Greater => false,
        })
    }

    /// Tries one number of servers of an open family. Returns it if these are decode servers that are too few.
    fn climb(&mut self, family: &mut Family<'q>) -> Result<Option<TooFew>, Error> {
        family.is_new = false;
        let Some(least) = family.ladder.least() else {
            return Ok(None);
        };
        let known = self.to_beat(family).map(|known| (known.cost(), known.verdict.headroom));
        let cap = known.map_or(family.ladder.last(), |(cost, _)| family.affordable(cost));
        let count = family.ladder.next(cap.max(least), known.is_some());
        // If no cheaper one is left, it must beat the answers of its cost.
        let is_least = count == least && known.is_some_and(|(cost, _)| cost <= family.cost(count));
        let floor = known.filter(|_| is_least).map(|(_, headroom)| headroom);
        let tried = self.attempt(family.variant, family.servers(count), floor)?;
        family.ladder.note(count, tried.verdict.meets);
        let too_few = tried.too_few_decode(self.limits);
        self.keep(tried);
        Ok(too_few)
    }

    /// Simulates a deployment, first with one seed, then with the others if that one meets the limits, with more than
    /// `floor` of headroom.
    pub(crate) fn attempt(
        &mut self,
        variant: &'q Variant,
        servers: Servers,
        floor: Option<f64>,
    ) -> Result<Tried<'q>, Error> {
        let run = variant.on(servers, self.links)?;
        let trials = Trial::until_missed(&run, &self.seeds, self.limits, floor)?;
        self.simulations += trials.len() as u64;
        let mut tried = Tried { variant, servers, verdict: Verdict::of(trials, self.seeds.len(), self.limits) };
        if tried.verdict.meets {
            let (recovers, runs) = self.recovery.of(&tried, &run)?;
            self.simulations += runs;
            tried.verdict.meets = recovers;
        }
        Ok(tried)
    }

    /// Keeps what was tried, if it is an answer or comes closer to the limits.
    pub(crate) fn keep(&mut self, tried: Tried<'q>) {
        if !tried.verdict.meets {
            if self.nearest.as_ref().is_none_or(|nearest| tried.is_nearer(nearest)) {
                self.nearest = Some(tried);
            }
            return;
        }
        match self.answers.iter_mut().find(|answer| answer.kind() == tried.kind()) {
            Some(answer) if tried.order(answer).is_lt() => *answer = tried,
            Some(_) => (),
            None => self.answers.push(tried),
        }
        self.answers.sort_by(Tried::order);
    }
}
