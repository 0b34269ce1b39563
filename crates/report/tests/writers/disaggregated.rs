//! Prefill and decode on servers of their own.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::float_cmp,
    reason = "a helper of tests fails as tests do; counts, and the same numbers read twice"
)]

use std::collections::BTreeMap;

use rooflut::sim::Request;
use rooflut::sim::load::RequestList;
use serde_json::Value;

use crate::runs::{Columns, Written, events, ns, number, pid, pools, single, text, tight, trace};

/// Columns that only a transferred request has.
const TRANSFER_COLUMNS: [&str; 3] = ["prefill_replica", "transfer_ms", "decode_queue_ms"];

fn run() -> Written {
    pools(tight(), &mut RequestList::new(&trace()))
}

/// Name, process, begin and end in nanoseconds of the phases of a request, in the order of their begin.
fn phases(timeline: &Value, request: usize) -> Vec<(String, u64, u64, u64)> {
    let id = request.to_string();
    let mut open: BTreeMap<(u64, &str), u64> = BTreeMap::new();
    let mut phases = Vec::new();
    for event in events(timeline, "be") {
        if text(event, "/id") != id {
            continue;
        }
        let (pid, name) = (pid(event), text(event, "/name"));
        match text(event, "/ph") {
            "b" => assert_eq!(open.insert((pid, name), ns(event, "/ts")), None),
            _ => {
                let begin_ns = open.remove(&(pid, name)).unwrap();
                phases.push((name.to_owned(), pid, begin_ns, ns(event, "/ts")));
            }
        }
    }
    assert!(open.is_empty());
    phases.sort_by_key(|&(_, pid, begin_ns, end_ns)| (pid, begin_ns, u64::MAX - end_ns));
    phases
}

fn mean(column: &[Option<f64>]) -> f64 {
    let values: Vec<f64> = column.iter().flatten().copied().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Rows of which all columns of a transfer are there, and those of which none is.
fn transferred(requests: &Columns) -> (usize, usize) {
    let rows = requests["request"].len();
    let there = |row: &usize| TRANSFER_COLUMNS.map(|name| requests[name][*row].is_some());
    let all = (0..rows).filter(|row| there(row) == [true; 3]).count();
    let none = (0..rows).filter(|row| there(row) == [false; 3]).count();
    assert_eq!(all + none, rows);
    (all, none)
}

#[test]
fn a_request_is_prefilled_on_one_process_and_decoded_on_another() {
    let run = run();
    let (requests, timeline) = (run.requests(), &run.timeline);
    let mut queued_for_decode = 0;
    let transferred = requests["transfer_ms"].iter().enumerate().filter(|(_, transfer)| transfer.is_some());
    for (request, _) in transferred {
        let row = |name: &str| requests[name][request].expect("a number");
        let time_ns = |name: &str| (row(name) * 1e6).round() as u64;
        let (prefill_pid, decode_pid) = (row("prefill_replica") as u64 + 1, row("replica") as u64 + 1);
        assert!(prefill_pid <= 2 && decode_pid > 2);
        let mut phases = phases(timeline, request).into_iter();
        let (arrival_ns, end_ns) = (time_ns("arrival_ms"), time_ns("arrival_ms") + time_ns("e2e_ms"));
        let (name, pid, begin_ns, prefilled_ns) = phases.next().expect("a request");
        assert_eq!((name.as_str(), pid, begin_ns), ("request", prefill_pid, arrival_ns));
        let mut spans: BTreeMap<String, u64> = BTreeMap::new();
        let mut now_ns = arrival_ns;
        let mut names = Vec::new();
        for (name, pid, begin_ns, finish_ns) in phases {
            if name == "request" {
                assert_eq!((now_ns, begin_ns), (prefilled_ns, prefilled_ns));
                assert_eq!((pid, finish_ns), (decode_pid, end_ns));
                names.push(name);
                continue;
            }
            // One after the other, without a gap between the servers.
            assert_eq!(begin_ns, now_ns, "{request}: {name}");
            let transferred = names.iter().any(|name| name == "request");
            assert_eq!(pid, if transferred { decode_pid } else { prefill_pid });
            now_ns = finish_ns;
            spans.insert(name.clone(), finish_ns - begin_ns);
            names.push(name);
        }
        assert_eq!(now_ns, end_ns);
        let all = [
            "API server",
            "queued",
            "prefill",
            "request",
            "KV transfer",
            "queued for decode",
            "decode",
            "API server output",
        ];
        let mut order = all.iter();
        assert!(names.iter().all(|name| order.any(|known| known == name)), "{names:?}");
        for name in ["prefill", "KV transfer", "decode"] {
            assert!(spans.contains_key(name), "{request}: no {name}");
        }
        let span = |name: &str| spans.get(name).copied().unwrap_or(0);
        assert_eq!(span("queued"), time_ns("queue_ms"));
        assert_eq!(span("KV transfer"), time_ns("transfer_ms"));
        assert_eq!(span("queued for decode"), time_ns("decode_queue_ms"));
        // The first token is one of the decode server.
        assert!(span("decode") > time_ns("e2e_ms") - time_ns("ttft_ms"));
        queued_for_decode += usize::from(span("queued for decode") > 0);
    }
    assert!(queued_for_decode > 0);
}

#[test]
fn requests_tell_how_they_were_transferred_and_add_up_to_the_report() {
    let run = run();
    let requests = run.requests();
    // The one that is rejected went nowhere.
    assert_eq!(transferred(&requests), (20, 1));
    let stages = run.report.summary.stages.unwrap();
    for (column, expected) in
        [("transfer_ms", stages.mean_transfer().ms()), ("decode_queue_ms", stages.mean_decode_queue().ms())]
    {
        let found = mean(&requests[column]);
        assert!((found - expected).abs() < 1e-6, "{column}: {found}");
    }
    for (name, servers) in [("prefill_replica", [0.0, 1.0]), ("replica", [2.0, 3.0])] {
        let mut found: Vec<f64> = requests[name].iter().flatten().copied().collect();
        found.sort_by(f64::total_cmp);
        found.dedup();
        assert_eq!(found, servers);
    }
    // Nothing is transferred where one server does both.
    assert_eq!(transferred(&single(tight(), &trace()).requests()), (0, 21));
}

#[test]
fn max_waiting_limits_the_queues_of_prefill_servers_and_not_those_of_decode_servers() {
    let mut config = tight().with_max_waiting(3);
    (config.max_num_seqs, config.kv_blocks) = (4, 10_000);
    let requests: Vec<Request> = (0..300).map(|index| Request::new(512, 256).at_ns(index * 10_000_000)).collect();
    let run = pools(config, &mut RequestList::new(&requests));
    let (completed, rejected) = (run.report.summary.completed, run.report.summary.rejected);
    assert!(rejected > 20 && completed > 20, "{rejected} {completed}");
    let (all, none) = transferred(&run.requests());
    assert_eq!((all as u64, none as u64), (completed, rejected));
    let rows = run.requests_csv.lines();
    let away = rows.filter(|row| row.contains(",queue_full,"));
    assert!(away.clone().all(|row| row.ends_with(",,,,,0,,,,,0")));
    assert_eq!(away.count(), none);
    let mut longest: BTreeMap<u64, f64> = BTreeMap::new();
    for event in events(&run.timeline, "C") {
        if text(event, "/name") == "waiting" {
            let of_server = longest.entry(pid(event)).or_default();
            *of_server = of_server.max(number(event, "/args/requests"));
        }
    }
    for (server, longest) in longest {
        match server {
            1 | 2 => assert!(longest <= 3.0, "{server}: {longest}"),
            _ => assert!(longest > 20.0, "{server}: {longest}"),
        }
    }
}
