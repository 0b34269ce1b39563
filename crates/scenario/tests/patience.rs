//! Clients that give up and ask again.
#![allow(clippy::unwrap_used, reason = "test code outside of test functions")]

mod support;

use rooflut::sim::figures::LatencyLimits;
use rooflut::units::Seconds;
use rooflut_report::Report;
use rooflut_scenario::{Bound, Goal, Score};

use support::{report, report_of_trace_with, run};

/// A server of 64 sequences that saturates at about 7.2 requests per second, whose clients wait for 5 s.
fn scenario(rate: f64, more: &str) -> String {
    format!(
        "[workload]\nrate = {rate}\npatience = '5s'\nprompt = 'lognormal:1000,0.8'\noutput = 'lognormal:400,0.8'\n{more}\n\
         [server]\nmax_num_seqs = 64\n"
    )
}

fn unserved(report: &Report) -> (u64, u64) {
    let clients = report.clients.unwrap();
    (clients.abandoned, clients.retries)
}

#[test]
fn clients_that_give_up_keep_a_server_out_of_overload_and_make_it_steady() {
    let report = report(&scenario(10.0, ""));
    let clients = report.clients.unwrap();
    assert!(!report.overloaded && report.steady.is_steady, "{:?}", report.steady);
    // 10 arrive per second, about 7.2 are served.
    assert!((0.2..0.36).contains(&clients.abandoned_share), "{clients:?}");
    assert!((6.8..7.7).contains(&report.throughput.requests_per_s), "{:?}", report.throughput);
    assert_eq!((report.rejected, report.rejected_by_reason.abandoned), (clients.abandoned, clients.abandoned));
    assert_eq!(report.completed + report.rejected, report.requests);
    // Served requests have waited for 5 s at most, and for the steps of their prompt.
    assert!(report.queue_ms.p99.unwrap() < 5_000.0);
    assert!(report.ttft_ms.p50.unwrap() > 3_000.0);
}

#[test]
fn a_short_run_whose_queue_still_fills_up_is_not_overloaded() {
    let report = report(&scenario(10.0, "requests = 300"));
    assert!(!report.overloaded && unserved(&report).0 > 0);
    // Without an end of patience in sight, it is.
    let patient = scenario(10.0, "requests = 3_000").replace("'5s'", "'1h'");
    let report = support::report(&patient);
    assert!(report.overloaded && unserved(&report).0 == 0);
}

#[test]
fn clients_that_are_served_in_time_change_nothing() {
    let text = scenario(3.0, "requests = 500");
    let impatient = report(&text);
    let patient = report(&text.replace("patience = '5s'\n", ""));
    assert_eq!(unserved(&impatient), (0, 0));
    assert_eq!(patient.clients, None);
    assert_eq!(Report { clients: None, command: patient.command.clone(), ..impatient }, patient);
}

#[test]
fn retries_are_requests_that_are_counted() {
    let report = report(&scenario(10.0, "requests = 2_000\nretries = 2"));
    let clients = report.clients.unwrap();
    assert_eq!(report.requests, 2_000 + clients.retries);
    assert_eq!(report.completed + report.rejected, report.requests);
    assert!(clients.retries > 500 && clients.abandoned > clients.retries, "{clients:?}");
    assert!((clients.retry_share - clients.retries as f64 / report.requests as f64).abs() < 1e-12);
    assert!(!report.overloaded);
}

#[test]
fn retries_of_a_trace_whose_requests_arrive_at_once_are_sent() {
    let rows = (0..400).map(|_| "0,500,100\n");
    let trace = "arrival_ms,prompt_tokens,output_tokens\n".to_owned() + &rows.collect::<String>();
    let more = "patience = 1\nretries = 1\n[server]\nmax_num_seqs = 64\n";
    let report = report_of_trace_with(&trace, more);
    let (abandoned, retries) = unserved(&report);
    assert!(retries > 0 && abandoned >= retries, "{abandoned} {retries}");
    assert_eq!(report.requests, 400 + retries);
}

#[test]
fn an_abandoned_request_misses_the_share_of_attainment_and_is_named_without_one() {
    let text = scenario(10.0, "requests = 1_000");
    let required = |more: &str| format!("{text}[output]\ngoodput = 'ttft:9000'\nrequire = true\n{more}\n");
    let missed = |text: &str| run(text).run(&mut ()).unwrap().missed().unwrap();
    let without = missed(&required(""));
    assert_eq!(without.len(), 1);
    assert!(without[0].ends_with(" requests are abandoned"), "{without:?}");
    let found = missed(&required("attainment = 0.95"));
    assert!(found[0].contains("requests meet all limits, fewer than the share of 0.95"), "{found:?}");
    assert!(missed(&required("attainment = 0.5")).is_empty());
}

#[test]
fn a_bound_on_the_share_of_missed_requests_counts_those_given_up() {
    let run = run(&scenario(10.0, ""));
    let mut limits = LatencyLimits::default();
    limits.ttft = Some(Seconds(9.0));
    let holds = |at_most: f64| {
        let bound = Bound { score: Score::Missed(limits), at_most };
        run.run_for(&Goal::Bounds(vec![bound]), &mut ()).unwrap().steady.holds
    };
    // All served requests are within the limit; about a quarter is not served.
    assert_eq!((holds(0.1), holds(0.5)), (Some(false), Some(true)));
}

#[test]
fn windows_count_requests_when_they_are_given_up() {
    let report = report(&(scenario(10.0, "requests = 1_000") + "[output]\nwindows = 5\n"));
    let windows = report.windows.as_ref().unwrap();
    let abandoned: u64 = windows.iter().map(|window| window.abandoned).sum();
    assert_eq!(abandoned, report.clients.unwrap().abandoned);
    assert!(windows.iter().all(|window| window.abandoned <= window.rejected));
    // No client gives up in the first 5 s.
    assert_eq!(windows[0].abandoned, 0);
}

#[test]
fn separate_decode_servers_can_be_overloaded_all_the_same() {
    let pools = "[server]\nprefill_replicas = 2\ndecode_replicas = 1\nlink_bandwidth = 50\nlink_latency = 10\n\
                 max_num_seqs = 64\n";
    let text = format!("[workload]\nrate = 20\npatience = 5\nprompt = 500\noutput = 'lognormal:400,0.8'\n{pools}");
    let report = report(&text);
    assert!(report.overloaded, "{:?}", report.steady);
}
