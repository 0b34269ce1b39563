//! One server: a timeline, and the lines of steps.
#![allow(clippy::float_cmp, reason = "counts, and the same numbers read twice")]

use std::collections::BTreeMap;

use serde_json::Value;

use crate::runs::{events, ns, number, single, text, tight, trace};

/// The sum of a column.
fn sum(column: &[Option<f64>]) -> f64 {
    column.iter().flatten().sum()
}

/// The largest number of a column.
fn most(column: &[Option<f64>]) -> f64 {
    let values = column.iter().flatten();
    values.fold(0.0, |most, value| value.max(most))
}

#[test]
fn a_timeline_has_the_steps_one_after_the_other() {
    let run = single(tight(), &trace());
    let timeline = &run.timeline;
    let steps = events(timeline, "X");
    assert_eq!(steps.len() as f64, run.report.summary.steps as f64);
    let rows = run.steps();
    let mut end_ns = 0;
    let mut names = BTreeMap::new();
    for (index, step) in steps.into_iter().enumerate() {
        assert!(end_ns <= ns(step, "/ts"), "{step}");
        end_ns = ns(step, "/ts") + ns(step, "/dur");
        *names.entry(text(step, "/name")).or_insert(0) += 1;
        let row = |name: &str| rows[name][index].expect("a number");
        assert_eq!(ns(step, "/ts") as f64, (row("start_ms") * 1e6).round());
        assert_eq!(number(step, "/args/tokens"), row("prefill_tokens") + row("decode_requests"));
        assert_eq!(number(step, "/args/requests"), row("prefill_chunks") + row("decode_requests"));
        assert_eq!(number(step, "/args/kv_tokens"), row("kv_tokens"));
        let (chunks, decodes) = (row("prefill_chunks") > 0.0, row("decode_requests") > 0.0);
        let expected = ["?", "decode", "prefill", "mixed"][2 * usize::from(chunks) + usize::from(decodes)];
        assert_eq!(text(step, "/name"), expected);
    }
    let names: Vec<&str> = names.into_keys().collect();
    assert_eq!(names, ["decode", "mixed", "prefill"]);
}

#[test]
fn the_phases_of_a_request_are_nested_in_it_and_add_up_to_its_e2e() {
    let run = single(tight(), &trace());
    let (requests, timeline) = (run.requests(), &run.timeline);
    let mut by_request: BTreeMap<usize, Vec<&Value>> = BTreeMap::new();
    for event in events(timeline, "be") {
        assert_eq!(text(event, "/cat"), "request");
        let id = text(event, "/id").parse().expect("a number");
        by_request.entry(id).or_default().push(event);
    }
    assert_eq!(by_request.len(), 20);
    for (request, events) in by_request {
        let mut open: Vec<(&str, u64)> = Vec::new();
        let mut spans: BTreeMap<&str, u64> = BTreeMap::new();
        let mut now_ns = 0;
        for event in events {
            assert!(now_ns <= ns(event, "/ts"), "{event}");
            now_ns = ns(event, "/ts");
            let name = text(event, "/name");
            if text(event, "/ph") == "b" {
                assert_eq!(open.len(), usize::from(name != "request"), "{event}");
                open.push((name, now_ns));
                continue;
            }
            let (begun, begin_ns) = open.pop().expect("an open one");
            assert_eq!(name, begun);
            assert!(spans.insert(name, now_ns - begin_ns).is_none(), "{event}");
        }
        assert!(open.is_empty());
        let e2e_ns = spans.remove("request").expect("a request");
        assert_eq!(spans.values().sum::<u64>(), e2e_ns);
        let time = |name: &str| requests[name][request].map_or(0, |ms| (ms * 1e6).round() as u64);
        let phase = |name: &str| spans.get(name).copied().unwrap_or(0);
        assert_eq!(e2e_ns, time("e2e_ms"));
        assert_eq!(phase("queued"), time("queue_ms"));
        assert_eq!(phase("decode"), e2e_ns - time("ttft_ms"));
        // One token is there with the prompt.
        assert_eq!(spans.contains_key("decode"), request > 0);
    }
}

#[test]
fn counters_change_forward_in_time_and_are_zero_on_an_idle_server() {
    let run = single(tight(), &trace());
    let timeline = &run.timeline;
    let steps = events(timeline, "X");
    let ends = |step: &&Value| ns(step, "/ts") + ns(step, "/dur");
    let pause = steps.windows(2).find(|two| ends(&two[0]) + 1_000_000_000 < ns(two[1], "/ts"));
    let pause_ns = ends(&pause.expect("a pause")[0]);
    let last_ns = ends(steps.last().expect("a step"));
    for (name, series, peak) in [
        ("running", "/args/requests", 8.0),
        ("waiting", "/args/requests", 1.0),
        ("KV", "/args/blocks", f64::from(run.report.summary.kv.peak_blocks)),
    ] {
        let counters = events(timeline, "C");
        let of_name = counters.into_iter().filter(|event| text(event, "/name") == name);
        let values: Vec<(u64, f64)> = of_name.map(|e| (ns(e, "/ts"), number(e, series))).collect();
        assert!(values.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 != two[1].1), "{name}");
        let at = |ns| values.iter().rev().find(|(at, _)| *at <= ns).map(|(_, value)| *value);
        assert_eq!((at(pause_ns), at(last_ns)), (Some(0.0), Some(0.0)), "{name}");
        let most = values.iter().fold(0.0_f64, |most, (_, value)| most.max(*value));
        assert!(most >= peak, "{name}: {most}");
    }
}

#[test]
fn steps_have_a_line_per_step_and_add_up_to_the_report() {
    let run = single(tight(), &trace());
    let (steps, summary) = (run.steps(), &run.report.summary);
    let (starts, durations) = (&steps["start_ms"], &steps["duration_ms"]);
    assert_eq!(starts.len() as f64, run.report.summary.steps as f64);
    assert!(steps.values().flatten().all(Option::is_some));
    let spans: Vec<(f64, f64)> = (starts.iter().flatten().copied()).zip(durations.iter().flatten().copied()).collect();
    assert!(spans.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0 + 1e-9));
    let (last_start, last) = spans[spans.len() - 1];
    let timings = run.report.records.iter().filter_map(|record| record.timing());
    let (finish_ns, answered_ns) = timings.fold((0, 0), |(finish, answered), timing| {
        let answer_ns = timing.finish_ns + timing.api_output_ns;
        (timing.finish_ns.max(finish), answer_ns.max(answered))
    });
    assert!((last_start + last - finish_ns as f64 / 1e6).abs() < 1e-3);
    // The last answer leaves the API server after the last step.
    assert!((summary.makespan.0 - answered_ns as f64 / 1e9).abs() < 1e-6);

    assert!(summary.preemptions as f64 > 0.0);
    assert_eq!(sum(&steps["preempted"]), summary.preemptions as f64);
    assert_eq!(most(&steps["kv_blocks_used"]), f64::from(run.report.summary.kv.peak_blocks));
    assert_eq!(most(&steps["running"]), 8.0);
    assert!(most(&steps["waiting"]) > 0.0);
    assert_eq!(most(&steps["prefill_tokens"]), 256.0);
    // A token per request and step, but for the first token, which the last chunk yields, and what a
    // preempted request decodes in its chunks.
    let outputs: f64 = (0..20).map(|index| f64::from(1 + 9 * index)).sum();
    let decoded = sum(&steps["decode_requests"]);
    assert!(decoded <= outputs - 20.0);
    assert!(decoded >= outputs - 20.0 - summary.preemptions as f64);
}
