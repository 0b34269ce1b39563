//! Servers that meet limits until a burst fills their KV cache, and then do not recover.
//!
//! With requests waiting, a server admits as many as its cache has room for. Their outputs outgrow the cache, so the
//! server preempts some and computes them again. It then completes fewer requests per second than without a queue. If
//! more arrive, the queue never ends (a metastable failure: Bronson et al., HotOS 2021). A run that a search can afford
//! may be too short to see such a burst.

use rooflut_scenario::{Error, Goal, Run};

use crate::servers::Servers;
use crate::tried::Tried;

/// Share of the KV cache in use at the peak of a run, up to which bursts that fill the cache are too rare to plan for. The
/// fleets of four questions of the long runs lie between half and this, and held with each of five seeds.
const ROOM: f64 = 0.85;

/// Load over throughput with a backlog beyond which a deployment is no answer. Below it a note says that the queue
/// grows: one that grows slowly often ends by itself.
const HOPELESS: f64 = 1.1;

/// The throughput of the servers of a question while requests wait.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    /// By variant: requests per second of a server with a backlog; `None` where it cannot have one.
    completed: Vec<(usize, Option<f64>)>,
    /// The last deployment that was left out.
    hopeless: Option<Backlog>,
}

/// A server with a backlog.
#[derive(Debug, Clone, Copy)]
struct Backlog {
    /// Requests per second that arrive and must be served.
    load: f64,
    /// Requests per second that it completes.
    completed: f64,
}

impl Recovery {
    /// Returns whether servers that meet the limits recover from a backlog, and how many runs that took.
    pub(crate) fn of(&mut self, tried: &Tried<'_>, run: &Run) -> Result<(bool, u64), Error> {
        let is_full = tried.verdict.trials.iter().any(|trial| trial.kv_share > ROOM);
        if !is_full || tried.servers.prefill.is_some() {
            return Ok((true, 0));
        }
        let index = tried.servers.variant.index;
        let is_known = self.completed.iter().any(|(of, _)| *of == index);
        if !is_known {
            let backlogged = run.backlogged();
            let completed = backlogged.as_ref().map(completed).transpose()?;
            self.completed.push((index, completed));
        }
        let hopeless = self.backlog(tried).filter(|server| server.load > HOPELESS * server.completed);
        self.hopeless = hopeless.or(self.hopeless);
        Ok((hopeless.is_none(), u64::from(!is_known)))
    }

    /// Returns what a server of a deployment does with a backlog, if that is known.
    fn backlog(&self, tried: &Tried<'_>) -> Option<Backlog> {
        let Servers { variant, prefill: None, count } = tried.servers else {
            return None;
        };
        let of_variant = |(of, _): &&(usize, Option<f64>)| *of == variant.index;
        let (_, completed) = self.completed.iter().find(of_variant)?;
        let rate = variant.run.scenario().workload.rate();
        Some(Backlog { load: variant.bounds.served_share * rate / f64::from(count), completed: (*completed)? })
    }

    /// Returns a remark on the best deployment, or on smaller ones, that would not recover.
    pub(crate) fn note(&self, best: Option<&Tried<'_>>) -> Option<String> {
        let of_best = best.and_then(|best| self.backlog(best));
        let (subject, server) = match of_best.filter(|server| server.load > server.completed) {
            Some(server) => ("these servers meet the limits", server),
            None => ("fewer servers would meet the limits", self.hopeless?),
        };
        let Backlog { load, completed } = server;
        Some(format!(
            "{subject} until a burst fills their KV cache: with requests waiting, each completes {completed:.3} of the \
             {load:.3} requests per second that it must serve, and does not recover"
        ))
    }
}

/// Returns the requests per second that a server with a backlog completes.
fn completed(backlogged: &Run) -> Result<f64, Error> {
    let outcome = backlogged.run_for(&Goal::Figures, &mut ())?;
    Ok(outcome.summary.throughput.requests_per_s)
}
