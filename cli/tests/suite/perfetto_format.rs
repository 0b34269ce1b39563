//! Timelines by the rules of the Chrome trace event format and of the importer of ui.perfetto.dev, which drops
//! what breaks them: <https://perfetto.dev/docs/getting-started/other-formats> and
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>. There is no package of that
//! importer to ask.
#![allow(
    clippy::panic,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "test code outside of test functions"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support::run_files::{POOLS, columns, events, ns, run_with, timeline};
use crate::support::{json, list, number, text};
use serde_json::Value;

/// A track: process and thread, process and counter, process and request.
type Track = (u64, String);

fn pid(event: &Value) -> u64 {
    event["pid"].as_u64().expect("a process")
}

/// The events of each track, sorted by time as the importer does: those of the same time stay in the order
/// of the file.
fn tracks<'t>(
    timeline: &'t Value,
    kinds: &str,
    name: impl Fn(&Value) -> String,
) -> BTreeMap<Track, Vec<&'t Value>> {
    let mut tracks: BTreeMap<Track, Vec<&Value>> = BTreeMap::new();
    for event in events(timeline, kinds) {
        tracks
            .entry((pid(event), name(event)))
            .or_default()
            .push(event);
    }
    for events in tracks.values_mut() {
        events.sort_by_key(|event| ns(event, "/ts"));
    }
    tracks
}

/// Required and optional fields of each kind of event.
fn check_keys(timeline: &Value) {
    let object = timeline.as_object().expect("an object");
    assert!(
        object.keys().eq(["displayTimeUnit", "traceEvents"]),
        "{object:?}"
    );
    assert!(matches!(text(timeline, "/displayTimeUnit"), "ms" | "ns"));
    for event in list(timeline, "/traceEvents") {
        let (must, may): (&[&str], &[&str]) = match text(event, "/ph") {
            "M" => (&["args"], &[]),
            "X" => (&["args", "dur", "ts"], &[]),
            "C" => (&["args", "ts"], &[]),
            "b" => (&["cat", "id", "ts"], &["args"]),
            "n" => (&["args", "cat", "id", "ts"], &[]),
            "e" => (&["cat", "id", "ts"], &[]),
            other => panic!("{other}: a kind that is not checked"),
        };
        let object = event.as_object().expect("an object");
        let known = ["name", "ph", "pid", "tid"];
        for key in known.iter().chain(must) {
            assert!(object.contains_key(*key), "no {key}: {event}");
        }
        let may = |key: &String| {
            let key = key.as_str();
            known.contains(&key) || must.contains(&key) || may.contains(&key)
        };
        assert!(object.keys().all(may), "{event}");
        assert!(!text(event, "/name").is_empty());
        // The importer takes process 0 for the idle one of Linux.
        assert!(pid(event) > 0 && event["tid"].is_u64(), "{event}");
        for time in ["ts", "dur"] {
            let time = object
                .get(time)
                .map_or(0.0, |time| time.as_f64().expect("a number"));
            assert!(time >= 0.0 && time.is_finite(), "{event}");
        }
        assert!(object.get("id").is_none_or(Value::is_string), "{event}");
    }
}

/// Every track has a process with a name, and every thread one of its own.
fn check_names(timeline: &Value) {
    let mut named = BTreeSet::new();
    for event in events(timeline, "M") {
        let of = text(event, "/name");
        assert!(matches!(of, "process_name" | "thread_name"), "{event}");
        assert!(!text(event, "/args/name").is_empty());
        assert!(named.insert((pid(event), of)), "named twice: {event}");
    }
    for event in list(timeline, "/traceEvents") {
        assert!(named.contains(&(pid(event), "process_name")), "{event}");
        assert!(text(event, "/ph") != "X" || named.contains(&(pid(event), "thread_name")));
    }
}

/// Slices of a thread follow each other: none begins in another.
fn check_slices(timeline: &Value) -> usize {
    let threads = tracks(timeline, "X", |event| event["tid"].to_string());
    for slices in threads.values() {
        let mut end_ns = 0;
        for slice in slices {
            assert!(ns(slice, "/ts") >= end_ns, "{slice}");
            assert!(ns(slice, "/dur") > 0, "{slice}");
            end_ns = ns(slice, "/ts") + ns(slice, "/dur");
        }
    }
    threads.len()
}

/// Each end closes what began last under the same category and id, all is closed, and an id has one process.
fn check_requests(timeline: &Value) {
    let id = |event: &Value| format!("{} {}", text(event, "/cat"), text(event, "/id"));
    let mut ids = BTreeSet::new();
    for ((_, id), events) in tracks(timeline, "ben", id) {
        let mut open = Vec::new();
        for event in events {
            match text(event, "/ph") {
                "b" => open.push(text(event, "/name")),
                "e" => assert_eq!(open.pop(), Some(text(event, "/name")), "{event}"),
                _ => assert!(open.is_empty(), "{event}"),
            }
        }
        assert!(open.is_empty(), "{id} is not closed");
        assert!(ids.insert(id.clone()), "{id} is in two processes");
    }
}

/// A counter has one series, and its values follow each other in time.
fn check_counters(timeline: &Value) {
    let counters = tracks(timeline, "C", |event| text(event, "/name").to_owned());
    for ((_, name), values) in &counters {
        let mut series = BTreeSet::new();
        for event in values {
            let args = event["args"].as_object().expect("values");
            assert!(args.values().all(Value::is_number), "{event}");
            series.extend(args.keys());
        }
        assert_eq!(series.len(), 1, "{name}");
        let times = values
            .windows(2)
            .map(|two| (ns(two[0], "/ts"), ns(two[1], "/ts")));
        assert!(
            times.into_iter().all(|(a, b)| a < b),
            "{name}: two values at a time"
        );
    }
}

fn check(timeline: &Value) -> usize {
    check_keys(timeline);
    check_names(timeline);
    check_requests(timeline);
    check_counters(timeline);
    check_slices(timeline)
}

#[test]
fn the_timeline_of_a_server_keeps_the_rules() {
    for flags in ["", "--scheduling sync"] {
        let (_, folder) = run_with(flags);
        assert_eq!(check(&timeline(&folder)), 1);
    }
}

#[test]
fn the_timeline_of_speculative_decoding_keeps_the_rules() {
    let drafts = "--draft-tokens 4 --acceptance 0.6 --draft-model ngram";
    let (answer, folder) = run_with(&drafts);
    assert!(number(&answer, "/preemptions") > 0.0 && number(&answer, "/rejected") > 0.0);
    assert_eq!(check(&timeline(&folder)), 1);
}

#[test]
fn prefill_and_decode_servers_are_processes_of_their_kind() {
    let (answer, folder) = run_with(&POOLS);
    let timeline = timeline(&folder);
    assert_eq!(check(&timeline), 4);
    let name = |event: &&Value| text(event, "/name") == "process_name";
    let names = events(&timeline, "M").into_iter().filter(name);
    let names = names.map(|event| text(event, "/args/name"));
    let kinds: Vec<&str> = names
        .map(|name| name.rsplit(", ").next().expect("one"))
        .collect();
    assert_eq!(
        kinds,
        [
            "prefill server 0",
            "prefill server 1",
            "decode server 2",
            "decode server 3",
            "router"
        ]
    );
    // Every server has steps, and the router rejects requests that no server can take.
    let steps: BTreeSet<u64> = events(&timeline, "X").into_iter().map(pid).collect();
    assert_eq!(steps, (1..=4).collect());
    let rejected = events(&timeline, "n");
    assert_eq!((rejected.len(), pid(rejected[0])), (1, 5));
    assert_eq!(number(&answer, "/rejected").to_bits(), 1.0_f64.to_bits());
}

#[test]
fn sessions_on_prefill_and_decode_servers_keep_the_rules_whoever_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("timeline.json");
    let load = format!(
        "run --users 12 --turns 4 --think-time 0.1 --requests 200 --max-num-seqs 2 --max-waiting 2 --prompt uniform:100..1500 --max-model-len 1500 --perfetto {}",
        path.display()
    );
    let answer = json(&format!("{load} {POOLS}"));
    let timeline = timeline(&folder);
    assert_eq!(check(&timeline), 4);
    let rejected = events(&timeline, "n").into_iter();
    let reasons: BTreeSet<&str> = rejected.map(|event| text(event, "/args/reason")).collect();
    assert_eq!(reasons, BTreeSet::from(["queue_full", "too_long"]));
    let begun = events(&timeline, "b").into_iter();
    let requests = begun.filter(|event| text(event, "/name") == "request");
    let completed = answer["completed"].as_u64().expect("a count");
    assert_eq!(requests.count() as u64, 2 * completed);
}

#[test]
fn replicas_are_processes_with_their_own_steps_counters_and_requests() {
    let (answer, folder) = run_with("--replicas 3");
    let timeline = timeline(&folder);
    assert_eq!(check(&timeline), 3);
    let steps = columns(&folder.path().join("steps.csv"));
    let requests = columns(&folder.path().join("requests.csv"));
    assert_eq!(events(&timeline, "X").len(), steps["replica"].len());
    let count = |column: &[Option<f64>], replica| {
        let of_replica = column
            .iter()
            .filter(|found| **found == Some(f64::from(replica)));
        of_replica.count()
    };
    for replica in 0..3_u32 {
        let of_replica = |event: &&Value| pid(event) == u64::from(replica) + 1;
        let slices = events(&timeline, "X").into_iter().filter(of_replica);
        assert_eq!(slices.count(), count(&steps["replica"], replica));
        let served = events(&timeline, "b").into_iter().filter(of_replica);
        let served = served.filter(|event| text(event, "/name") == "request");
        assert_eq!(served.count(), count(&requests["replica"], replica));
        let names = events(&timeline, "M").into_iter().filter(of_replica);
        let names: Vec<&str> = names.map(|event| text(event, "/args/name")).collect();
        assert!(
            names
                .iter()
                .any(|name| name.ends_with(&format!(", replica {replica}")))
        );
    }
    // The rejected request.
    let rejected = events(&timeline, "n");
    assert_eq!((rejected.len(), pid(rejected[0])), (1, 4));
    assert_eq!(number(&answer, "/rejected").to_bits(), 1.0_f64.to_bits());
    // All servers are idle at the end.
    for replica in 1..=3 {
        let counters = events(&timeline, "C")
            .into_iter()
            .filter(|e| pid(e) == replica);
        let mut running = counters.filter(|event| text(event, "/name") == "running");
        let last = running.next_back().expect("a counter");
        assert_eq!(number(last, "/args/requests").to_bits(), 0);
    }
}

#[test]
fn a_large_timeline_of_a_generated_load_keeps_the_rules_at_the_end_of_a_year() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("timeline.json");
    let trace = folder.path().join("trace.csv");
    // 365 days in milliseconds, where a microsecond has few digits left of a float's.
    let row = |index: u32| format!("{}.{:06},300,20\n", 31_536_000_000_u64, 7 * index);
    let rows: String = (0..500).map(row).collect();
    fs::write(
        &trace,
        format!("arrival_ms,prompt_tokens,output_tokens\n{rows}"),
    )
    .expect("a file");
    let name = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let flags = format!(
        "run --trace {} --perfetto {} --replicas 2",
        name(&trace),
        name(&path)
    );
    json(&flags);
    assert_eq!(check(&timeline(&folder)), 2);
}
