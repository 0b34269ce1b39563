//! When a run is steady, and when its servers are overloaded.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod support;

use rooflut_report::Report;

use support::{report, report_of_trace};

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
    assert!(
        (later / much_later - 1.0).abs() < 0.1,
        "{later} {much_later}"
    );
    let (is_steady, apart) = ttft("'exponential:10'", "");
    assert!(is_steady && apart < 60.0, "{apart}");
}
