//! Remarks on runs that say little of a steady state.

use rooflut_scenario::{Load, Run, ThinkTime, Workload, grouped};

use crate::limit::Limits;

/// Requests of a server below which a run says little of its steady state.
const FEW_REQUESTS: u64 = 100;

/// Returns a remark on runs that are too short for the number of servers.
pub(crate) fn few_requests(run: &Run, servers: u32) -> Option<String> {
    let each = run.load().requests() / u64::from(servers.max(1));
    let more = match run.load() {
        Load::Trace { .. } => "a longer trace",
        Load::Generated(_) => "more requests",
    };
    (each < FEW_REQUESTS).then(|| {
        format!(
            "each server serves {each} requests of a run, too few for a steady state; use {more}"
        )
    })
}

/// Returns the requests that users without a think time send at the start of a run, all at once.
pub(crate) fn opening_requests(workload: &Workload) -> Option<u32> {
    workload
        .users
        .filter(|_| workload.think_time() == ThinkTime::NONE)
}

/// Returns a remark on users who all ask at the start of a run, if their first requests are so many that they decide a
/// limited figure.
pub(crate) fn opening_burst(run: &Run, limits: &Limits) -> Option<String> {
    let burst = opening_requests(&run.scenario().workload)?;
    let requests = run.load().requests();
    let beyond = limits.least_share_beyond()? * requests as f64;
    (f64::from(burst) > beyond).then(|| {
        format!(
            "all {} users ask at the start of a run, and these are so many of its {} requests that they decide the \
             limited figures; use more requests, or a think time, which spreads the first ones",
            grouped(burst),
            grouped(requests)
        )
    })
}
