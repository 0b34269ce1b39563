//! The answer to a question: the cheapest deployments.

use std::collections::BTreeSet;

use rooflut_scenario::{Error, Load, unmeasured};
use serde::Serialize;

use crate::answer::Answer;
use crate::bounds::Lengths;
use crate::break_even::{self, BreakEven};
use crate::excluded::Excluded;
use crate::least::least_gpus;
use crate::limit::Limit;
use crate::limited_by::LimitedBy;
use crate::notes::of_runs;
use crate::question::{Question, seeds};
use crate::recovery::Recovery;
use crate::search::Search;
use crate::servers::Servers;
use crate::tried::Tried;
use crate::variant::{Bounds, Variant, Work};

/// The cheapest deployments that meet the limits.
///
/// Its JSON has the fields in this order; times are milliseconds.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Plan {
    /// Name of the model.
    pub model: String,
    /// GPUs of the best deployment; null if none meets the limits.
    pub gpus: Option<u32>,
    /// The deployments that meet the limits, the best first, each of another kind of server.
    pub deployments: Vec<Answer>,
    /// The deployment that comes closest to the limits; null if one meets them.
    pub nearest: Option<Answer>,
    /// The prices below which other GPUs of `deployments` become the cheapest choice.
    pub break_even: Vec<BreakEven>,
    /// The fewest GPUs that may keep up with the load, by step times alone; null where arrivals depend on answers or
    /// come from a trace.
    pub least_gpus: Option<u32>,
    /// The limits.
    pub limits: Vec<String>,
    /// Share of requests that must meet all limits together; null for limits on figures.
    pub attainment: Option<f64>,
    /// Share of measured servers that the intervals are meant to contain; the limits hold at the far ends of the
    /// intervals; null for predictions.
    pub confidence: Option<f64>,
    /// The first seed; the other seeds follow consecutively.
    pub first_seed: u64,
    /// Seeds with which each deployment must meet the limits.
    pub seeds: u64,
    /// Requests of each run, if given; null for as many as show whether the limits hold.
    pub requests: Option<u64>,
    /// Whether the runs of the best deployment lasted until they were steady; false for loads that never are.
    pub is_steady: bool,
    /// The setting that holds requests back if the best deployment has one server less and misses the limits; null
    /// without such a setting, and for one server.
    pub limited_by: Option<LimitedBy>,
    /// Runs that were simulated.
    pub simulations: u64,
    /// Kinds of servers that cannot serve the model or meet the limits with any number of servers, and why.
    pub excluded: Vec<Excluded>,
    /// Remarks.
    pub notes: Vec<String>,
}

impl Question<'_> {
    /// Finds the cheapest deployments that meet the limits.
    ///
    /// A deployment meets the limits if each of three seeds meets them, with no request rejected and no run overloaded.
    /// A run leaves out its warm-up and lasts until the limits hold, or do not, with 99 % confidence
    /// ([`Goal::Bounds`](rooflut_scenario::Goal::Bounds)). If the longest allowed run does not make this clear, its
    /// figures decide. Bounds from step times exclude kinds and numbers of servers. The remaining numbers of servers
    /// are bisected, on the assumption that more servers meet the limits if fewer do. A note says if the best
    /// deployment breaks this assumption.
    ///
    /// The figures of the answers are those of their commands: runs of all servers, as long with each seed as the
    /// longest run of the search. If such runs miss a limit, more servers are tried, up to three times; the kind of
    /// servers is then excluded, as are servers that reject a request as too long.
    ///
    /// Separate prefill and decode servers may be of different kinds: of other GPUs or parallelism, with the same formats
    /// and limits of a step. The fewest prefill servers of a kind are those with which the prompts alone meet a limit on
    /// TTFT; fewer miss it whatever decodes.
    ///
    /// # Errors
    /// A scenario that no deployment can run, choices that contradict the scenario, too few requests for the figures.
    pub fn plan(&self) -> Result<Plan, Error> {
        let links = self.links()?;
        let candidates = self.candidates()?;
        let mut search = Search {
            limits: &self.limits,
            links,
            seeds: seeds(&self.scenario),
            max_gpus: self.space.max_gpus,
            count: self.count.max(1),
            simulations: 0,
            answers: Vec::new(),
            nearest: None,
            recovery: Recovery::default(),
            refuted: Vec::new(),
        };
        let variants = &candidates.variants;
        search.run(variants)?;
        let tables = self.space.tables.iter();
        let mut notes: Vec<String> = tables.filter_map(|tables| unmeasured(tables, &self.scenario.target)).collect();
        let mut limited_by = None;
        if let Some(best) = search.answers.first().cloned() {
            notes.extend(self.wider(&mut search, &best)?);
            limited_by = self.limited_by(&mut search, &best)?;
        } else {
            self.approach(&mut search, variants)?;
        }
        search.answers.truncate(search.count);
        let seeds = search.seeds.len();
        let answer = |tried: &Tried<'_>| Answer::of(tried, links, seeds as u32, self);
        let deployments: Result<Vec<Answer>, Error> = search.answers.iter().map(answer).collect();
        let deployments = deployments?;
        let nearest = search.nearest.as_ref().filter(|_| deployments.is_empty());
        let first = variants.first();
        let load = first.map(|variant| variant.run.load());
        let shown = search.answers.iter().chain(&search.nearest).next();
        let trials = shown.map_or(&[][..], |shown| &shown.verdict.trials);
        let is_clear = trials.iter().all(|trial| trial.is_clear);
        notes.extend(load.into_iter().flat_map(|load| of_runs(load, is_clear)));
        notes.extend(search.recovery.note(search.answers.first()));
        let unable = candidates.unable.into_iter().map(|(choice, error)| Excluded::unable(choice, error));
        let max_gpus = self.space.max_gpus;
        let kinds: Vec<_> = search.answers.iter().map(|answer| answer.servers.kind()).collect();
        let is_used = |variant: &&Variant| {
            kinds.iter().any(|(whole, prefill)| [Some(*whole), *prefill].contains(&Some(variant.index)))
        };
        let used = variants.iter().filter(is_used);
        let mismatches = used.filter_map(|variant| variant.run.placement().engine_mismatch.clone());
        notes.extend(mismatches.collect::<BTreeSet<String>>());
        let unused = variants.iter().filter(|variant| !is_used(variant));
        let beyond = unused.filter_map(|variant| Excluded::by_bounds(variant, max_gpus));
        let refuted = search.refuted.iter().filter_map(Excluded::refuted);
        Ok(Plan {
            model: self.model.name.clone(),
            gpus: deployments.first().map(|best| best.gpus),
            nearest: nearest.map(answer).transpose()?,
            break_even: break_even::of(&deployments),
            deployments,
            least_gpus: least_gpus(variants),
            limits: self.limits.limits().iter().map(Limit::to_string).collect(),
            attainment: self.limits.attainment(),
            confidence: self.confidence.map(|confidence| confidence.share()),
            first_seed: self.scenario.workload.seed(),
            seeds: search.seeds.len() as u64,
            requests: load.and_then(Load::requests),
            is_steady: is_clear && !trials.is_empty() && trials.iter().all(|trial| !trial.is_transient),
            limited_by,
            simulations: search.simulations,
            excluded: unable.chain(beyond).chain(refuted).collect(),
            notes,
        })
    }

    /// Returns what keeps the best deployment from one server less, and the GPUs that are needed if that is raised.
    fn limited_by<'v>(&self, search: &mut Search<'v>, best: &Tried<'v>) -> Result<Option<LimitedBy>, Error> {
        let Servers { variant, count, .. } = best.servers;
        if count == 1 {
            return Ok(None);
        }
        let fewer = search.attempt(best.servers.with_count(count - 1), None)?;
        let Some(mut limited) = LimitedBy::of(&variant.run, &fewer.verdict.trials) else {
            return Ok(None);
        };
        // Twice the value of one kind of servers says little of two kinds.
        if best.servers.unlike().is_none()
            && let Some(run) = limited.raised(&variant.run)
        {
            let lengths = Lengths::of_run(&run)?;
            let variants = [Variant {
                index: 0,
                choice: variant.choice.clone(),
                weight: variant.weight,
                bounds: Bounds::of(&run, lengths.as_ref(), &self.limits),
                run,
            }];
            let mut raised = Search {
                limits: search.limits,
                links: search.links,
                seeds: search.seeds.clone(),
                max_gpus: search.max_gpus,
                count: 1,
                simulations: 0,
                answers: Vec::new(),
                nearest: None,
                recovery: Recovery::default(),
                refuted: Vec::new(),
            };
            raised.run(&variants)?;
            let gpus = |tried: &Tried<'_>| tried.servers.gpus();
            limited.gpus = raised.answers.first().map(gpus);
            search.simulations += raised.simulations;
        }
        Ok(Some(limited))
    }

    /// Tries the best deployment with one server more, and says if that misses the limits.
    fn wider<'v>(&self, search: &mut Search<'v>, best: &Tried<'v>) -> Result<Option<String>, Error> {
        let servers = best.servers.with_count(best.servers.count + 1);
        if servers.gpus() > self.space.max_gpus {
            return Ok(None);
        }
        let more = search.attempt(servers, None)?;
        Ok((!more.verdict.meets).then(|| {
            "the best deployment is at the edge: with one more server it misses the limits, because of how the \
             requests happen to be divided; latency does not fall steadily with servers here"
                .to_owned()
        }))
    }

    /// Tries the largest deployments of the kinds whose latency is too high without load, to see how far they are from
    /// the limits.
    fn approach<'v>(&self, search: &mut Search<'v>, variants: &'v [Variant]) -> Result<(), Error> {
        for variant in variants {
            let count = variant.max_servers(self.space.max_gpus);
            if variant.bounds.missed(Work::Whole).is_some() && variant.bounds.replicas <= count {
                let tried = search.attempt(Servers { variant, prefill: None, count }, Some(f64::INFINITY))?;
                search.keep(tried);
            }
        }
        Ok(())
    }
}
