//! `rooflut run --perfetto`.
#![allow(clippy::float_cmp, reason = "counts, and the same numbers read twice")]

use std::collections::BTreeMap;
use std::fs;

use crate::support::run_files::{columns, events, ns, run, timeline};
use crate::support::{failure_with_answer, number, success, text};
use serde_json::Value;

#[test]
fn a_timeline_has_the_steps_one_after_the_other() {
    let (answer, folder) = run();
    let timeline = timeline(&folder);
    let steps = events(&timeline, "X");
    assert_eq!(steps.len() as f64, number(&answer, "/steps"));
    let rows = columns(&folder.path().join("steps.csv"));
    let mut end_ns = 0;
    let mut names = BTreeMap::new();
    for (index, step) in steps.into_iter().enumerate() {
        assert!(end_ns <= ns(step, "/ts"), "{step}");
        end_ns = ns(step, "/ts") + ns(step, "/dur");
        *names.entry(text(step, "/name")).or_insert(0) += 1;
        let row = |name: &str| rows[name][index].expect("a number");
        assert_eq!(ns(step, "/ts") as f64, (row("start_ms") * 1e6).round());
        assert_eq!(
            number(step, "/args/tokens"),
            row("prefill_tokens") + row("decode_requests")
        );
        assert_eq!(
            number(step, "/args/requests"),
            row("prefill_chunks") + row("decode_requests")
        );
        assert_eq!(number(step, "/args/kv_tokens"), row("kv_tokens"));
        let (chunks, decodes) = (row("prefill_chunks") > 0.0, row("decode_requests") > 0.0);
        let expected =
            ["?", "decode", "prefill", "mixed"][2 * usize::from(chunks) + usize::from(decodes)];
        assert_eq!(text(step, "/name"), expected);
    }
    let names: Vec<&str> = names.into_keys().collect();
    assert_eq!(names, ["decode", "mixed", "prefill"]);
}

#[test]
fn the_phases_of_a_request_are_nested_in_it_and_add_up_to_its_e2e() {
    let (_, folder) = run();
    let requests = columns(&folder.path().join("requests.csv"));
    let timeline = timeline(&folder);
    let mut by_request: BTreeMap<usize, Vec<&Value>> = BTreeMap::new();
    for event in events(&timeline, "be") {
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
    let (answer, folder) = run();
    let timeline = timeline(&folder);
    let steps = events(&timeline, "X");
    let ends = |step: &&Value| ns(step, "/ts") + ns(step, "/dur");
    let pause = steps
        .windows(2)
        .find(|two| ends(&two[0]) + 1_000_000_000 < ns(two[1], "/ts"));
    let pause_ns = ends(&pause.expect("a pause")[0]);
    let last_ns = ends(steps.last().expect("a step"));
    for (name, series, peak) in [
        ("running", "/args/requests", 8.0),
        ("waiting", "/args/requests", 1.0),
        ("KV", "/args/blocks", number(&answer, "/kv_blocks_peak")),
    ] {
        let counters = events(&timeline, "C");
        let of_name = counters
            .into_iter()
            .filter(|event| text(event, "/name") == name);
        let values: Vec<(u64, f64)> = of_name.map(|e| (ns(e, "/ts"), number(e, series))).collect();
        assert!(
            values
                .windows(2)
                .all(|two| two[0].0 < two[1].0 && two[0].1 != two[1].1),
            "{name}"
        );
        let at = |ns| {
            values
                .iter()
                .rev()
                .find(|(at, _)| *at <= ns)
                .map(|(_, value)| *value)
        };
        assert_eq!(
            (at(pause_ns), at(last_ns)),
            (Some(0.0), Some(0.0)),
            "{name}"
        );
        let most = values
            .iter()
            .fold(0.0_f64, |most, (_, value)| most.max(*value));
        assert!(most >= peak, "{name}: {most}");
    }
}

#[test]
fn a_timeline_in_which_nothing_is_served_says_who_was_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("timeline.json");
    let path = path.to_str().expect("UTF-8");
    failure_with_answer(&format!(
        "run --requests 2 --max-model-len 99 --perfetto {path}"
    ));
    let timeline = timeline(&folder);
    assert!(events(&timeline, "XCbe").is_empty());
    let rejected = events(&timeline, "n");
    assert_eq!(rejected.len(), 2);
    for event in rejected {
        assert_eq!(text(event, "/args/reason"), "too_long");
    }
}

#[cfg(unix)] // elsewhere no file may be called so
#[test]
fn a_timeline_is_json_whatever_the_model_is_called() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("a\"b\\c");
    fs::create_dir(&model).expect("a folder");
    let config = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "vocab_size": 128256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"}"#;
    fs::write(model.join("config.json"), config).expect("a file");
    let path = folder.path().join("timeline.json");
    let (model, path) = (
        model.to_str().expect("UTF-8"),
        path.to_str().expect("UTF-8"),
    );
    success(&format!(
        "run --requests 1 --model {model} --perfetto {path}"
    ));
    let title = timeline(&folder);
    let title = text(&title, "/traceEvents/0/args/name");
    assert!(title.ends_with("a\"b\\c on 1 h100 GPU"), "{title}");
}
