//! Deployments that were simulated.

use std::cmp::Ordering;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rooflut_scenario::{Error, Latency, Run};

use crate::bounds::MARGIN;
use crate::limit::{Limit, Limits};
use crate::servers::Servers;
use crate::trial::{Trial, Verdict};
use crate::variant::Links;

/// Requests of a run without which its warm-up is not left out.
const WINDOW: f64 = 500.0;

/// A deployment that was simulated.
#[derive(Debug, Clone)]
pub(crate) struct Tried<'q> {
    pub(crate) servers: Servers<'q>,
    pub(crate) verdict: Verdict,
    /// Whether its trials are the runs of its command.
    pub(crate) is_repeated: bool,
    /// The number of requests of these runs, where the command must name it.
    pub(crate) requests: Option<u32>,
}

impl<'q> Tried<'q> {
    pub(crate) fn new(servers: Servers<'q>, verdict: Verdict) -> Tried<'q> {
        Tried { servers, verdict, is_repeated: false, requests: None }
    }

    /// Returns the deployment with the runs of its command: of all servers, and equally long with each seed. The
    /// trials of a search end when their verdict is clear, and simulate a few of many servers. Also returns the number
    /// of runs that this took.
    pub(crate) fn repeated(
        self,
        links: Option<Links>,
        seeds: &[u64],
        limits: &Limits,
    ) -> Result<(Tried<'q>, u64), Error> {
        let run = self.servers.run(links)?;
        let Some(requests) = requests(&run, &self.verdict.trials) else {
            return Ok((Tried { is_repeated: true, ..self }, 0));
        };
        let run = run.with_requests(requests)?;
        let repeated = |(seed, before): (&u64, &Trial)| {
            // It took the search to tell whether the limits are too close.
            Ok(Trial { is_clear: before.is_clear, ..Trial::of(&run, *seed, limits)? })
        };
        let trials = seeds.par_iter().zip(&self.verdict.trials).map(repeated).collect::<Result<Vec<_>, Error>>()?;
        let verdict = Verdict::of(trials, seeds.len(), limits);
        Ok((Tried { verdict, is_repeated: true, requests: Some(requests), ..self }, seeds.len() as u64))
    }

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

/// Returns the requests of a run of all servers that lasts as long as the longest trial: two digits, rounded up. `None`
/// where a run takes as many as the trials did by itself.
fn requests(run: &Run, trials: &[Trial]) -> Option<u32> {
    let sample = run.sampled();
    let is_alike = sample.is_none() && run.scenario().output.interval.is_some();
    if run.load().requests().is_some() || is_alike {
        return None;
    }
    let stands_for = sample.map_or(1.0, |sample| sample.servers() / f64::from(sample.replicas()));
    let longest = trials.iter().map(|trial| trial.requests).max().unwrap_or_default();
    let most = run.max_requests();
    // A saturating conversion.
    let needed = ((longest as f64 * stands_for + WINDOW) as u32).min(most);
    let digit = 10_u32.pow(needed.checked_ilog10().map_or(0, |digits| digits.saturating_sub(1)));
    Some(needed.next_multiple_of(digit).min(most))
}

/// Decode servers of a variant that are too few beside any number of prefill servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TooFew {
    pub(crate) variant: usize,
    pub(crate) decode: u32,
}
