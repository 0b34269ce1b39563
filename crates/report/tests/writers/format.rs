//! Timelines by the rules of the Chrome trace event format and of the importer of ui.perfetto.dev, which drops
//! what breaks them: <https://perfetto.dev/docs/getting-started/other-formats> and
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>. There is no package of that
//! importer to ask.
#![allow(clippy::panic, clippy::indexing_slicing, clippy::expect_used, reason = "test code outside of test functions")]

use std::collections::{BTreeMap, BTreeSet};

use rooflut::engine::Scheduling;
use rooflut::sim::load::{ClosedLoop, Lengths, RequestList, RequestMix, Sessions, ThinkTime};
use rooflut::sim::{Request, Speculation};
use rooflut::units::Seconds;
use serde_json::Value;

use crate::runs::{events, ns, number, pid, pools, replicas, single, text, tight, trace};

/// A track: process and thread, process and counter, process and request.
type Track = (u64, String);

/// The events of each track, sorted by time as the importer does: those of the same time stay in the order
/// of the file.
fn tracks<'t>(timeline: &'t Value, kinds: &str, name: impl Fn(&Value) -> String) -> BTreeMap<Track, Vec<&'t Value>> {
    let mut tracks: BTreeMap<Track, Vec<&Value>> = BTreeMap::new();
    for event in events(timeline, kinds) {
        tracks.entry((pid(event), name(event))).or_default().push(event);
    }
    for events in tracks.values_mut() {
        events.sort_by_key(|event| ns(event, "/ts"));
    }
    tracks
}

fn all(timeline: &Value) -> &[Value] {
    timeline["traceEvents"].as_array().expect("events")
}

/// Required and optional fields of each kind of event.
fn check_keys(timeline: &Value) {
    let object = timeline.as_object().expect("an object");
    assert!(object.keys().eq(["displayTimeUnit", "traceEvents"]), "{object:?}");
    assert!(matches!(text(timeline, "/displayTimeUnit"), "ms" | "ns"));
    for event in all(timeline) {
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
            let time = object.get(time).map_or(0.0, |time| time.as_f64().expect("a number"));
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
    for event in all(timeline) {
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
        let times = values.windows(2).map(|two| (ns(two[0], "/ts"), ns(two[1], "/ts")));
        assert!(times.into_iter().all(|(a, b)| a < b), "{name}: two values at a time");
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
    for scheduling in [Scheduling::OneStepAhead, Scheduling::Synchronous] {
        let mut config = tight();
        config.rules.scheduling = scheduling;
        assert_eq!(check(&single(config, &trace()).timeline), 1);
    }
}

#[test]
fn the_timeline_of_speculative_decoding_keeps_the_rules() {
    let drafts = Speculation::try_new(4, 0.6, 0).unwrap();
    let mut config = tight().with_speculation(drafts);
    config.rules.scheduling = Scheduling::Synchronous;
    let run = single(config, &trace());
    let summary = &run.report.summary;
    assert!(summary.preemptions > 0 && summary.rejected > 0);
    assert_eq!(check(&run.timeline), 1);
}

#[test]
fn prefill_and_decode_servers_have_steps_and_the_router_rejects() {
    let run = pools(tight(), &mut RequestList::new(&trace()));
    assert_eq!(check(&run.timeline), 4);
    let names = events(&run.timeline, "M").into_iter().filter(|event| text(event, "/name") == "process_name");
    let names: Vec<&str> = names.map(|event| text(event, "/args/name")).collect();
    let expected = ["prefill 0", "prefill 1", "decode 2", "decode 3", "router"];
    assert_eq!(names, expected);
    let steps: BTreeSet<u64> = events(&run.timeline, "X").into_iter().map(pid).collect();
    assert_eq!(steps, (1..=4).collect());
    let rejected = events(&run.timeline, "n");
    assert_eq!((rejected.len(), pid(rejected[0])), (1, 5));
}

#[test]
fn sessions_on_prefill_and_decode_servers_keep_the_rules_whatever_is_rejected() {
    let mut config = tight().with_max_waiting(2);
    (config.max_num_seqs, config.max_model_len) = (2, 1_500);
    let pause = ThinkTime::try_fixed(Seconds(0.1)).unwrap();
    let prompt = Lengths::try_uniform(100..=1_500).unwrap();
    let sessions = Sessions::new(Lengths::try_fixed(4).unwrap(), pause);
    let mix = RequestMix::new(prompt, Lengths::try_fixed(256).unwrap()).with_sessions(sessions);
    let mut users = ClosedLoop::try_new(12, pause, mix, 0).unwrap().limited(200);
    let run = pools(config, &mut users);
    assert_eq!(check(&run.timeline), 4);
    let rejected = events(&run.timeline, "n").into_iter();
    let reasons: BTreeSet<&str> = rejected.map(|event| text(event, "/args/reason")).collect();
    assert!(reasons.is_superset(&BTreeSet::from(["queue_full", "too_long"])));
    let begun = events(&run.timeline, "b").into_iter();
    let requests = begun.filter(|event| text(event, "/name") == "request");
    assert_eq!(requests.count() as u64, 2 * run.report.summary.completed);
}

#[test]
fn replicas_are_processes_with_their_own_steps_counters_and_requests() {
    let run = replicas(&trace());
    let timeline = &run.timeline;
    assert_eq!(check(timeline), 3);
    let (steps, requests) = (run.steps(), run.requests());
    assert_eq!(events(timeline, "X").len(), steps["replica"].len());
    let count = |column: &[Option<f64>], replica| {
        let values = column.iter();
        let of_replica = values.filter(|found| **found == Some(f64::from(replica)));
        of_replica.count()
    };
    for replica in 0..3_u32 {
        let of_replica = |event: &&Value| pid(event) == u64::from(replica) + 1;
        let slices = events(timeline, "X").into_iter().filter(of_replica);
        assert_eq!(slices.count(), count(&steps["replica"], replica));
        let served =
            events(timeline, "b").into_iter().filter(of_replica).filter(|event| text(event, "/name") == "request");
        assert_eq!(served.count(), count(&requests["replica"], replica));
        // All servers are idle at the end.
        let counters = events(timeline, "C").into_iter().filter(of_replica);
        let mut running = counters.filter(|event| text(event, "/name") == "running");
        let last = running.next_back().unwrap();
        assert_eq!(number(last, "/args/requests").to_bits(), 0);
    }
    let rejected = events(timeline, "n");
    assert_eq!((rejected.len(), pid(rejected[0])), (1, 4));
}

#[test]
fn a_large_timeline_keeps_the_rules_at_the_end_of_a_year() {
    // 365 days in nanoseconds, where a microsecond has few digits left of a float's.
    let arrival_ns = |index: u64| 31_536_000_000_000_000 + 7 * index;
    let requests: Vec<Request> = (0..500).map(|index| Request::new(300, 20).at_ns(arrival_ns(index))).collect();
    assert_eq!(check(&replicas(&requests).timeline), 3);
}
