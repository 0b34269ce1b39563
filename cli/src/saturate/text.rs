//! The answer of `rooflut saturate` as text.

use rooflut_plan::{Division, Point, Saturation};
use rooflut_report::LatencySpread;

use crate::command_line;
use crate::grid::Grid;
use crate::limited_by;
use crate::output::{
    count, exact_percent, latency_cell, number, percent, plural, three_digits, title, warnings, wrapped_at,
};
use crate::plan::lasting;

/// Column of the text after its label.
const INDENT: usize = 14;

/// Returns the highest rates and the curve around them.
pub(super) fn text(saturation: &Saturation) -> String {
    let unit = saturation.unit;
    let rate = |point: &Point| format!("{} {unit} per second", three_digits(point.rate));
    let servers = format!("{} on {} {}", saturation.model, count(saturation.gpus), saturation.gpu);
    let heading = match (&saturation.within_limits, &saturation.lowest) {
        (Some(point), _) if saturation.requests.is_some() && !point.is_steady => format!(
            "{servers} serves {} within the limits for these requests, which do not reach a steady state",
            rate(point)
        ),
        (Some(point), _) => format!("{servers} serves {} within the limits", rate(point)),
        (None, Some(_)) => format!("{servers}: no rate meets the limits"),
        (None, None) => format!("{servers} keeps up with {}", rate(&saturation.saturation)),
    };
    let mut text = title(&heading) + &warnings(INDENT, &saturation.notes);
    let mut line = |label: &str, told: String| text += &wrapped_at(INDENT, label, &told);
    if !saturation.limits.is_empty() {
        line("limits", within(&saturation.limits.join(", "), saturation.attainment, saturation.confidence));
    }
    if let Some(point) = &saturation.within_limits {
        line("highest", format!("{}, {}", rate(point), served(point)));
    }
    if let Some(own) = saturation.trace_rate {
        let times = |point: &Point, at: &str| format!("{} times {at}", three_digits(point.rate / own));
        let highest = saturation.within_limits.as_ref().map(|point| times(point, "within the limits"));
        let full = times(&saturation.saturation, "at saturation");
        let told = highest.into_iter().chain([full]).collect::<Vec<_>>().join(", ");
        line("speed", format!("{told}, over that of the trace ({} requests per second)", three_digits(own)));
    }
    let full = &saturation.saturation;
    line("saturation", format!("{}, {}", rate(full), served(full)));
    let knee = &saturation.knee;
    let why = "where throughput over mean end-to-end latency is highest";
    line("knee", format!("{}, {why}", rate(knee)));
    if let Some(limited) = &saturation.limited_by {
        let rate = |rate| format!("{} {unit} per second", three_digits(rate));
        let told = limited_by::describe(limited, limited.rate.map(rate));
        line("limited by", told);
    }
    if let Some(division) = &saturation.division {
        line("division", divided(division, unit));
    }
    let last = saturation.first_seed.wrapping_add(saturation.seeds - 1);
    let seeds = match saturation.seeds {
        1 => String::new(),
        seeds => format!(" with each of {} seeds, {} to {last}", count(seeds), saturation.first_seed),
    };
    line("runs", format!("{}{seeds}", lasting(saturation.requests)));
    let tolerance = percent(100.0 * saturation.tolerance);
    let simulations = plural(saturation.simulations, "simulation");
    line("search", format!("{simulations}, rates {tolerance} apart"));
    let goodput = if saturation.limits.is_empty() { "" } else { ", goodput" };
    let units = format!("latencies in ms; {unit}{goodput} and output tokens per second");
    line("curve", format!("means over the seeds: {units}"));
    text += &command_line::vllm(INDENT, &saturation.vllm_command);
    text += &format!("\n{}", curve(saturation));
    text
}

/// Returns the limits, and what must meet them.
pub(super) fn within(limits: &str, attainment: Option<f64>, confidence: Option<f64>) -> String {
    match (attainment, confidence) {
        (Some(share), _) => {
            format!("{limits}, all met by {} of requests", exact_percent(share))
        }
        (_, Some(share)) => {
            let share = percent(100.0 * share);
            format!("{limits}, at the far end of intervals for {share} of servers")
        }
        _ => limits.to_owned(),
    }
}

fn served(point: &Point) -> String {
    let tokens = count(point.output_tokens_per_s.round() as u64);
    let busy = percent(100.0 * point.busy_share);
    let busy = match (point.prefill_busy_share, point.decode_busy_share) {
        (Some(prefill), Some(decode)) => format!(
            "prefill servers busy {} of the time, decode servers {}",
            percent(100.0 * prefill),
            percent(100.0 * decode)
        ),
        _ => format!("busy {busy} of the time"),
    };
    format!("{tokens} output tokens per second, {busy}")
}

fn divided(division: &Division, unit: &str) -> String {
    let known = division.prefill_requests_per_s.zip(division.decode_requests_per_s);
    let balance = known.zip(division.ratio).map(|((prefill, decode), ratio)| {
        format!(
            "{} prefill servers per decode server balance step times ({} and {} requests per second each); ",
            number(ratio, 2),
            three_digits(prefill),
            three_digits(decode)
        )
    });
    let best = match division.best.as_ref().and_then(|split| Some((split, split.rate?))) {
        Some((split, rate)) => format!(
            "best of {} servers: {} prefill + {} decode, {} {unit} per second",
            count(division.servers.into()),
            split.prefill_replicas,
            split.decode_replicas,
            three_digits(rate)
        ),
        None => format!("no division of {} servers meets the limits", count(division.servers.into())),
    };
    balance.unwrap_or_default() + &best
}

fn curve(saturation: &Saturation) -> String {
    let has_limits = !saturation.limits.is_empty();
    let goodput = if has_limits { " >goodput |" } else { "" };
    let mut grid = Grid::new(&format!(
        ">rate | >TTFT\np50 | >TTFT\np99 | >TPOT\np50 | >TPOT\np99 | >E2E\np50 | >E2E\np99 |{goodput} >output\ntokens \
         | >busy | "
    ));
    let marks = [
        (saturation.within_limits.as_ref(), "highest"),
        (Some(&saturation.saturation), "saturation"),
        (Some(&saturation.knee), "knee"),
    ];
    for point in &saturation.curve {
        let here = marks.iter().filter(|(named, _)| *named == Some(point));
        let mut marks: Vec<&str> = here.map(|(_, mark)| *mark).collect();
        if point.overloaded > 0 {
            marks.push("overload");
        }
        let mut cells = vec![three_digits(point.rate)];
        for latency in [point.ttft_ms, point.tpot_ms, point.e2e_ms] {
            cells.extend(figures(latency));
        }
        if has_limits {
            cells.push(point.goodput_per_s.map_or_else(|| "-".to_owned(), three_digits));
        }
        cells.extend([
            count(point.output_tokens_per_s.round() as u64),
            percent(100.0 * point.busy_share),
            marks.join(" "),
        ]);
        grid.row(cells);
    }
    grid.render(2)
}

/// Returns the median and the p99, means over the seeds.
pub(super) fn figures(latency: LatencySpread) -> [String; 2] {
    [latency.p50, latency.p99].map(|spread| spread.map_or_else(|| "-".to_owned(), |spread| latency_cell(spread.mean)))
}
