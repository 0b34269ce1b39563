//! The steady state of a run as text.

use rooflut_scenario::{Outcome, Window};

use crate::output::{count, latency, number, percent, plural};

/// Whether figures of served requests are not those of a steady state, though the load has one.
fn is_unsteady(outcome: &Outcome<'_>) -> bool {
    let steady = &outcome.steady;
    outcome.totals.completed > 0 && !steady.is_steady() && !steady.is_transient
}

/// Returns the end of a heading over figures that are not those of a steady state, though the load has one.
pub(super) fn heading(outcome: &Outcome<'_>) -> &'static str {
    match outcome.is_overloaded() {
        true => ": overloaded",
        false if is_unsteady(outcome) => ": not in a steady state",
        false => "",
    }
}

/// Describes the part of the run that the figures are of.
pub(super) fn window(window: &Window) -> String {
    let span = format!("{} to {} simulated s", number(window.from_s, 1), number(window.to_s, 1));
    let error = window
        .mean_error
        .filter(|error| *error > 0.0)
        .map_or(String::new(), |error| format!("; means known to +-{}", percent(100.0 * error)));
    format!(
        "the figures cover {span}: {} of warm-up and {} of the drain are left out{error}",
        plural(window.warm_up_requests, "request"),
        count(window.drain_requests),
    )
}

/// Returns the warning of a run whose figures are not those of a steady state, though the load has one.
pub(super) fn warning(outcome: &Outcome<'_>) -> Option<String> {
    if outcome.is_overloaded() {
        return Some(overload(outcome));
    }
    is_unsteady(outcome).then(|| {
        let requests = plural(outcome.requests(), "request");
        let advice = match outcome.run.load().requests() {
            Some(_) => "leave out --requests, or use more requests",
            None => "the load is too close to what the servers can do; lower it, or set --warm-up",
        };
        let part = match outcome.steady.window {
            Some(_) => "a short part of it",
            None => "the whole run, ramp-up and drain included",
        };
        format!(
            "the run of {requests} ends before the servers reach a steady state, so its figures cover {part}; {advice}"
        )
    })
}

fn overload(outcome: &Outcome<'_>) -> String {
    let summary = &outcome.summary;
    let served = number(summary.throughput.requests_per_s, 2);
    let times = match summary.stages {
        Some(_) => "time in queues and on links",
        None => "queue time",
    };
    let growth = summary.queue_growth.map_or(String::new(), |growth| {
        format!(
            ", and the mean {times} grows from {} in the first quarter of the requests to {} in the last",
            latency(growth.first_quarter.ms()),
            latency(growth.last_quarter.ms()),
        )
    });
    format!("the server does not keep up with this rate: it serves {served} requests/s{growth}")
}
