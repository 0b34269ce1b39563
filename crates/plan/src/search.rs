//! The search for the cheapest deployments.

use std::cmp::Ordering;

use rooflut_scenario::Error;

use crate::bounds::MARGIN;
use crate::ladder::Ladder;
use crate::limit::Limits;
use crate::recovery::Recovery;
use crate::refuted::Refuted;
use crate::servers::Servers;
use crate::trial::{Trial, Verdict};
use crate::tried::{TooFew, Tried};
use crate::variant::{Links, Variant, Work};

/// Deployments that differ in the number of their servers.
#[derive(Debug, Clone, Copy)]
struct Family<'q> {
    /// Its deployments; the number of the servers that decode is that of the ladder.
    servers: Servers<'q>,
    ladder: Ladder,
    is_new: bool,
}

impl<'q> Family<'q> {
    /// Servers that prefill and decode.
    fn whole(variant: &'q Variant, max_gpus: u32) -> Family<'q> {
        let last = variant.max_servers(max_gpus);
        let bounds = &variant.bounds;
        Family {
            servers: Servers { variant, prefill: None, count: bounds.replicas },
            ladder: Ladder::new(bounds.replicas, bounds.hint, last),
            is_new: true,
        }
    }

    /// Decode servers beside `count` prefill servers; `None` if these leave no GPU.
    fn divided(variant: &'q Variant, (prefill, count): (&'q Variant, u32), max_gpus: u32) -> Option<Family<'q>> {
        let left = max_gpus.checked_sub(prefill.gpus().saturating_mul(count))?;
        let [_, decode] = variant.bounds.pools;
        Some(Family {
            servers: Servers { variant, prefill: Some((prefill, count)), count: decode },
            ladder: Ladder::new(decode, decode, variant.max_servers(left)),
            is_new: true,
        })
    }

    fn cost(&self, count: u32) -> f64 {
        self.servers.with_count(count).cost()
    }

    /// Returns the lowest cost at which it may meet the limits; `None` if it is searched through.
    fn least_cost(&self) -> Option<f64> {
        self.ladder.least().map(|least| self.cost(least))
    }

    /// Returns the largest headroom that its unloaded servers leave.
    fn headroom(&self) -> f64 {
        let bounds = &self.servers.variant.bounds;
        match self.servers.unlike() {
            Some(prefill) => prefill.bounds.headroom(Work::Prefill).min(bounds.headroom(Work::Decode)),
            None => bounds.headroom(Work::Whole),
        }
    }

    /// Returns the largest number of servers that does not cost more than `cost`.
    fn affordable(&self, cost: f64) -> u32 {
        let variant = self.servers.variant;
        // Prices are divided as they were multiplied, to the last digits.
        let servers = |cost: f64| (cost / variant.weight * (1.0 + 1e-12)).floor() as u32;
        let counted = match self.servers.prefill {
            None => servers(cost),
            Some((prefill, count)) if prefill.index == variant.index => servers(cost).saturating_sub(count),
            Some((prefill, count)) => servers(cost - prefill.cost(count)),
        };
        counted.min(self.ladder.last())
    }

    /// Notes the decode servers that are too few.
    fn rule_out(&mut self, too_few: &[TooFew]) {
        let is_own = |few: &&TooFew| self.servers.prefill.is_some() && few.variant == self.servers.variant.index;
        if let Some(few) = too_few.iter().filter(is_own).map(|few| few.decode).max() {
            self.ladder.rule_out(few);
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
    /// Answers that miss the limits in the runs of their commands.
    pub(crate) refuted: Vec<Refuted<'q>>,
}

impl<'q> Search<'q> {
    /// Finds the cheapest deployments, those of equal cost by their headroom.
    ///
    /// The family whose bounds allow the lowest cost is tried next, until none can beat the answers that are known.
    /// These are then simulated as their commands do; where that misses a limit, the search goes on, up to a bound on
    /// such runs of a kind of servers.
    pub(crate) fn run(&mut self, variants: &'q [Variant]) -> Result<(), Error> {
        let mut families = self.families(variants)?;
        let mut too_few = Vec::new();
        loop {
            let place = |family: &Family<'_>| family.servers.with_count(0).place();
            let order = |a: &Family<'_>, b: &Family<'_>| {
                let cost = |family: &Family<'_>| family.least_cost().unwrap_or(f64::INFINITY);
                cost(a).total_cmp(&cost(b)).then(place(a).cmp(&place(b)))
            };
            let Some(next) = families.iter_mut().filter(|family| self.is_open(family)).min_by(|a, b| order(a, b))
            else {
                match self.repeat(&mut families)? {
                    true => continue,
                    false => return Ok(()),
                }
            };
            let wider = next.servers.prefill.filter(|_| next.is_new).and_then(|(prefill, count)| {
                Family::divided(next.servers.variant, (prefill, count.checked_add(1)?), self.max_gpus)
            });
            too_few.extend(self.climb(next)?);
            families.extend(wider);
            for family in &mut families {
                family.rule_out(&too_few);
            }
        }
    }

    /// The families of all kinds of servers, those of pools with the fewest prefill servers.
    fn families(&mut self, variants: &'q [Variant]) -> Result<Vec<Family<'q>>, Error> {
        let able = variants.iter().filter(|variant| variant.bounds.missed(Work::Whole).is_none());
        let mut families: Vec<Family<'_>> = able.map(|variant| Family::whole(variant, self.max_gpus)).collect();
        if self.links.is_none() {
            return Ok(families);
        }
        let divides = |work: Work| {
            variants.iter().filter(move |variant| variant.divides() && variant.bounds.missed(work).is_none())
        };
        for prefill in divides(Work::Prefill) {
            let count = self.least_prefill(prefill)?;
            let decode = divides(Work::Decode).filter(|decode| decode.pairs_with(prefill));
            families.extend(decode.filter_map(|decode| Family::divided(decode, (prefill, count), self.max_gpus)));
        }
        Ok(families)
    }

    /// Returns the fewest servers of a kind that may prefill for any others: with fewer, the prompts alone miss the limits
    /// on TTFT.
    fn least_prefill(&mut self, variant: &'q Variant) -> Result<u32, Error> {
        let [first, _] = variant.bounds.pools;
        let (Some(limits), Some(seed)) = (self.limits.of_prompts(MARGIN), self.seeds.first()) else {
            return Ok(first);
        };
        let mut ladder = Ladder::new(first, first, variant.max_servers(self.max_gpus));
        while ladder.least().is_some() {
            let count = ladder.next(ladder.last(), false);
            let Some(run) = variant.run.of_prompts(count) else {
                return Ok(first);
            };
            let trial = Trial::of(&run, *seed, &limits)?;
            self.simulations += 1;
            ladder.note(count, trial.meets);
        }
        // If none is enough, one more than are allowed.
        Ok(ladder.met().unwrap_or(ladder.last().saturating_add(1)))
    }

    /// The last of the answers that are asked for, if so many are known.
    fn worst(&self) -> Option<&Tried<'q>> {
        self.answers.get(self.count.checked_sub(1)?)
    }

    /// Returns the answer that a family must beat to be one: that of its own kind, or the last that is asked for.
    fn to_beat(&self, family: &Family<'_>) -> Option<&Tried<'q>> {
        let own = self.answers.iter().find(|answer| answer.servers.kind() == family.servers.kind());
        let known = own.into_iter().chain(self.worst());
        known.min_by(|a, b| a.order(b))
    }

    /// Whether a family may beat the answers that are known.
    fn is_open(&self, family: &Family<'_>) -> bool {
        let Some(cost) = family.least_cost().filter(|_| !self.leaves_out(family)) else {
            return false;
        };
        self.to_beat(family).is_none_or(|known| match cost.total_cmp(&known.servers.cost()) {
            Ordering::Less => true,
            Ordering::Equal => family.headroom() > known.verdict.headroom,
            Ordering::Greater => false,
        })
    }

    /// Whether the kind of servers of a family was refuted often enough.
    fn leaves_out(&self, family: &Family<'_>) -> bool {
        let own = self.refuted.iter().find(|refuted| refuted.servers.kind() == family.servers.kind());
        own.is_some_and(|refuted| refuted.left_out().is_some())
    }

    /// Tries one number of servers of an open family. Returns it if these are decode servers that are too few.
    fn climb(&mut self, family: &mut Family<'q>) -> Result<Option<TooFew>, Error> {
        family.is_new = false;
        let Some(least) = family.ladder.least() else {
            return Ok(None);
        };
        let known = self.to_beat(family).map(|known| (known.servers.cost(), known.verdict.headroom));
        let cap = known.map_or(family.ladder.last(), |(cost, _)| family.affordable(cost));
        let count = family.ladder.next(cap.max(least), known.is_some());
        // If no cheaper one is left, it must beat the answers of its cost.
        let is_least = count == least && known.is_some_and(|(cost, _)| cost <= family.cost(count));
        let floor = known.filter(|_| is_least).map(|(_, headroom)| headroom);
        let tried = self.attempt(family.servers.with_count(count), floor)?;
        family.ladder.note(count, tried.verdict.meets);
        let too_few = tried.too_few_decode(self.limits);
        self.keep(tried);
        Ok(too_few)
    }

    /// Simulates a deployment, first with one seed, then with the others if that one meets the limits, with more than
    /// `floor` of headroom.
    pub(crate) fn attempt(&mut self, servers: Servers<'q>, floor: Option<f64>) -> Result<Tried<'q>, Error> {
        let run = servers.run(self.links)?;
        let trials = Trial::until_missed(&run, &self.seeds, self.limits, floor)?;
        self.simulations += trials.len() as u64;
        let mut tried = Tried::new(servers, Verdict::of(trials, self.seeds.len(), self.limits));
        if tried.verdict.meets {
            let (recovers, runs) = self.recovery.of(&tried, &run)?;
            self.simulations += runs;
            tried.verdict.meets = recovers;
        }
        Ok(tried)
    }

    /// Simulates one of the answers that are asked for as its command does; returns whether there was one left.
    fn repeat(&mut self, families: &mut [Family<'q>]) -> Result<bool, Error> {
        let Some(place) = self.answers.iter().take(self.count).position(|answer| !answer.is_repeated) else {
            return Ok(false);
        };
        let (tried, simulations) = self.answers.remove(place).repeated(self.links, &self.seeds, self.limits)?;
        self.simulations += simulations;
        if !tried.verdict.meets {
            let place = |servers: Servers<'_>| servers.with_count(0).place();
            let own = families.iter_mut().find(|family| place(family.servers) == place(tried.servers));
            if let Some(family) = own {
                family.ladder.refute(tried.servers.count);
            }
            Refuted::add(&mut self.refuted, &tried);
        }
        self.keep(tried);
        Ok(true)
    }

    /// Keeps what was tried, if it is an answer or comes closer to the limits.
    pub(crate) fn keep(&mut self, tried: Tried<'q>) {
        if !tried.verdict.meets {
            if self.nearest.as_ref().is_none_or(|nearest| tried.is_nearer(nearest)) {
                self.nearest = Some(tried);
            }
            return;
        }
        match self.answers.iter_mut().find(|answer| answer.servers.kind() == tried.servers.kind()) {
            Some(answer) if tried.order(answer).is_lt() => *answer = tried,
            Some(_) => (),
            None => self.answers.push(tried),
        }
        self.answers.sort_by(Tried::order);
    }
}
