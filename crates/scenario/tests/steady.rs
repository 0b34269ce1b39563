//! When a run is steady, and when its servers are overloaded.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod support;

use rooflut_report::Report;
use rooflut_scenario::{Bound, Goal, Latency, Score};

use support::{report, report_of_trace, run};

/// A server of 64 sequences that saturates at about 7.2 requests per second.
fn at_rate(rate: f64, seed: u64) -> Report {
    report(&format!(
        "[workload]\nrate = {rate}\nseed = {seed}\nprompt = 'lognormal:1000,0.8'\noutput = 'lognormal:400,0.8'\n\
         [server]\nmax_num_seqs = 64\n"
    ))
}

#[test]
fn servers_that_serve_fewer_requests_than_arrive_are_overloaded() {
    for seed in 0..3 {
        let beyond = at_rate(7.6, seed);
        assert!(beyond.overloaded && !beyond.steady.is_steady, "{seed}");
        assert!(beyond.throughput.requests_per_s < 7.6, "{seed}");
        let below = at_rate(6.6, seed);
        assert!(!below.overloaded, "{seed}");
    }
}

#[test]
fn a_burst_is_no_overload_and_a_trace_at_a_rate_beyond_the_server_is_one() {
    let trace = |rows: u32, gap_ms: u32| {
        let rows = (0..rows).map(|i| format!("{},500,100\n", i * gap_ms));
        "arrival_ms,prompt_tokens,output_tokens\n".to_owned() + &rows.collect::<String>()
    };
    let burst = report_of_trace(&trace(2_000, 0));
    assert!(!burst.overloaded && burst.steady.is_transient);
    assert!(burst.queue_ms.p99.unwrap() > 1_000.0);
    assert!(report_of_trace(&trace(20_000, 5)).overloaded);
    assert!(!report_of_trace(&trace(2_000, 50)).overloaded);
}

#[test]
fn a_given_warm_up_makes_no_short_run_steady() {
    let steady = |requests: u32| {
        let text = format!("[workload]\nrequests = {requests}\nwarm_up = 1\n");
        report(&text).steady
    };
    assert!(!steady(30).is_steady);
    let long = steady(3_000);
    assert!(long.is_steady && long.from_s == Some(1.0), "{long:?}");
}

#[test]
fn users_who_pause_equally_long_are_served_until_they_are_in_step() {
    let ttft = |pause: &str, requests: &str| {
        let load = format!("[workload]\nusers = 100\nthink_time = {pause}\n{requests}\n");
        let report = report(&load);
        (report.steady.is_steady, report.ttft_ms.p99.unwrap())
    };
    // At first they are apart.
    let (is_steady, early) = ttft("10", "requests = 600");
    assert!(!is_steady && early < 100.0, "{early}");
    let (is_steady, later) = ttft("10", "");
    assert!(is_steady && later > 3.0 * early, "{later}");
    let (_, much_later) = ttft("10", "requests = 100_000");
    assert!((later / much_later - 1.0).abs() < 0.1, "{later} {much_later}");
    let (is_steady, apart) = ttft("'exponential:10'", "");
    assert!(is_steady && apart < 60.0, "{apart}");
}

#[test]
fn requests_of_equal_length_behind_a_router_by_tokens_are_served_until_they_are_in_step() {
    let report = |output: &str, requests: &str| {
        report(&format!(
            "[workload]\nrate = 320\nprompt = '512'\noutput = '{output}'\n{requests}\n[server]\nreplicas = 8\n\
             router = 'least-tokens'\nmax_num_seqs = 128\n"
        ))
    };
    let (early, later) = (report("128", "requests = 5_000"), report("128", ""));
    assert!(!early.steady.is_steady && later.steady.is_steady);
    let [early, later] = [early, later].map(|report| report.ttft_ms.mean.unwrap());
    assert!(later > 1.02 * early, "{early} {later}");
    // Nothing is in step where outputs differ.
    let mixed = report("lognormal:100,0.5", "requests = 5_000");
    assert!(mixed.steady.is_steady, "{:?}", mixed.steady);
}

#[test]
fn a_limit_that_is_missed_by_far_ends_a_run_before_its_warm_up_does() {
    let run = run(
        "[workload]\nrate = 320\nprompt = '512'\noutput = '128'\n[server]\nreplicas = 8\nrouter = 'least-tokens'\n",
    );
    let whole = run.run(&mut ()).unwrap().report();
    let tpot = whole.tpot_ms.mean.unwrap();
    let bound = Bound { score: Score::Latency(Latency::Tpot), at_most: 0.5 * tpot / 1e3 };
    let missed = run.run_for(&Goal::Bounds(vec![bound]), &mut ()).unwrap();
    assert_eq!(missed.steady.holds, Some(false));
    assert!(whole.steady.warm_up_requests.is_some());
    assert_eq!(missed.report().steady.warm_up_requests, None);
}
