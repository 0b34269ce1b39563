//! Runs over several seeds.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod support;

use rooflut_report::{LatencyMs, Report, Spread};

use support::report;

const LOAD: &str = "[workload]\nrate = 25\nrequests = 500\noutput = 64\n";

#[test]
fn figures_range_over_the_runs_of_consecutive_seeds() {
    let together = report(&format!("{LOAD}seed = 3\nseeds = 4"));
    let single = [3, 4, 5, 6].map(|seed| report(&format!("{LOAD}seed = {seed}")));
    let seeds = together.seeds.unwrap();
    assert_eq!((seeds.first, seeds.count), (3, 4));
    assert!((seeds.coverage - 0.6).abs() < 1e-12);
    // The other figures are those of the first seed.
    let mut first = together.clone();
    first.seeds = None;
    first.command = single[0].command.clone();
    assert_eq!(first, single[0]);
    let agrees = |spread: Option<Spread>, of: &dyn Fn(&Report) -> f64| {
        let values = single.each_ref().map(of);
        let spread = spread.unwrap();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        assert!((spread.lowest - least).abs() < 1e-12 && (spread.highest - most).abs() < 1e-12);
        assert!((spread.mean / (values.iter().sum::<f64>() / 4.0) - 1.0).abs() < 1e-12);
        assert!(least < most);
    };
    agrees(seeds.ttft_ms.p99, &|report| report.ttft_ms.p99.unwrap());
    agrees(seeds.itl_ms.mean, &|report| report.itl_ms.mean.unwrap());
    agrees(seeds.requests_per_s, &|report| report.throughput.requests_per_s);
    assert_eq!(seeds.goodput_per_s, None);
    assert_eq!(seeds.overloaded, 0);
    assert_eq!(together, report(&format!("{LOAD}seed = 3\nseeds = 4")));
}

#[test]
fn acceptances_are_drawn_anew_for_each_seed() {
    let text = "[workload]\narrival = 'constant'\nrate = 2\nrequests = 20\nseeds = 3\n\
                [server]\ndraft_tokens = 2\nacceptance = 0.5\ndraft_model = 'ngram'";
    let tpot = report(text).seeds.unwrap().tpot_ms.mean.unwrap();
    assert!(tpot.lowest < tpot.highest);
}

#[test]
fn overload_is_said_for_a_rate_and_not_for_users() {
    let load = "[server]\nmax_num_seqs = 128\n[workload]\nrequests = 300\n";
    assert!(report(&format!("{load}rate = 60\nseeds = 2")).overloaded);
    assert_eq!(report(&format!("{load}rate = 60\nseeds = 2")).seeds.unwrap().overloaded, 2);
    assert!(!report(&format!("{load}rate = 2")).overloaded);
    assert!(!report(&format!("{load}users = 200")).overloaded);
}

#[test]
fn a_percentile_of_too_few_requests_is_not_known() {
    let text = "[workload]\nrequests = 99\nrate = 50\noutput = 4\nseeds = 2";
    let report = report(text);
    let LatencyMs { p50, p90, p95, p99, .. } = report.ttft_ms;
    assert_eq!([p50, p90, p95, p99].map(|p| p.is_some()), [true, true, false, false]);
    let seeds = report.seeds.unwrap();
    assert!(seeds.ttft_ms.p90.is_some() && seeds.ttft_ms.p95.is_none());
}
