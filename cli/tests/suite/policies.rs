//! `rooflut run` with policies, and with replicas behind a router.

use crate::support::{json, number, success};

/// Mean TTFT of a run with these flags, in ms.
fn ttft(flags: &str) -> f64 {
    number(&json(&format!("run {flags}")), "/ttft_ms/mean")
}

#[test]
fn replicas_share_a_load_that_one_server_does_not_keep_up_with() {
    let load = "--rate 60 --requests 400 --max-num-seqs 128";
    let one = ttft(load);
    for router in ["round-robin", "least-tokens", "prefix-affinity"] {
        let several = format!("{load} --replicas 4 --router {router}");
        assert!(10.0 * ttft(&several) < one, "{router}");
    }
    let answer = json("run --replicas 4");
    let alone = json("run");
    let blocks = number(&answer, "/kv_blocks") / number(&alone, "/kv_blocks");
    assert!((blocks - 4.0).abs() < f64::EPSILON);
    assert!(number(&answer, "/busy_share") <= 1.0);
    assert_eq!(answer["router"], "round-robin");
    assert_eq!(alone["router"], serde_json::Value::Null);
    assert_eq!((&alone["policy"], &alone["prefix_caching"]), (&"fcfs".into(), &"on".into()));
}

#[test]
fn a_replica_that_serves_most_of_the_load_is_named() {
    let run = |rate| {
        let line = format!("run --requests 100 --replicas 4 --router least-tokens --rate {rate}");
        let share = json(&line)["busiest_replica_share"].clone();
        (share, success(&line))
    };
    // All replicas are idle at every arrival, and the first of them is taken.
    let (share, text) = run(0.1);
    assert!(share.as_f64().is_some_and(|share| share > 0.9), "{share}");
    assert!(text.contains("server 0 serves ") && text.contains("of 4 equal servers"), "{text}");
    let (share, text) = run(60.0);
    assert!(share.is_null() && !text.contains("equal servers"), "{share} {text}");
}

#[test]
fn sessions_find_their_earlier_turns_unless_nothing_is_kept() {
    let sessions = "--rate 2 --turns 5 --think-time 1 --requests 300";
    let off = format!("{sessions} --prefix-caching off");
    assert!(1.5 * ttft(sessions) < ttft(&off));
}

#[test]
fn short_prompts_go_first_where_the_policy_says_so() {
    let load = "--rate 40 --requests 500 --prompt uniform:10..4000";
    let shortest = format!("{load} --policy shortest-prompt");
    let (fcfs, shortest) = (json(&format!("run {load}")), json(&format!("run {shortest}")));
    let p50 = |answer| number(answer, "/ttft_ms/p50");
    let p99 = |answer| number(answer, "/ttft_ms/p99");
    assert!(p50(&shortest) < p50(&fcfs) && p99(&shortest) > p99(&fcfs));
}

#[test]
fn who_comes_when_the_queue_is_full_is_rejected_and_counted() {
    let flags = "--rate 100 --requests 500 --max-waiting 20";
    let answer = json(&format!("run {flags}"));
    let rejected = number(&answer, "/rejected_by_reason/queue_full");
    assert!(rejected > 0.0);
    assert!((rejected + number(&answer, "/completed") - 500.0).abs() < f64::EPSILON);
}
