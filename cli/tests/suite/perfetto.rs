//! `rooflut run --perfetto`: names of servers and models, and requests that are rejected.

use std::fs;

use crate::support::run_files::{POOLS, run_with, timeline};
use crate::support::{failure_with_answer, list, new_path, success, text};

#[test]
fn servers_are_named_by_model_kind_and_replica() {
    for (flags, expected) in [
        ("", &[""][..]),
        ("--replicas 2", &[", replica 0", ", replica 1"]),
        (POOLS, &[", prefill server 0", ", prefill server 1", ", decode server 2", ", decode server 3"]),
    ] {
        let (_, folder) = run_with(flags);
        let timeline = timeline(&folder);
        let events = list(&timeline, "/traceEvents").iter();
        let names = events.filter(|event| event["name"] == "process_name").map(|event| text(event, "/args/name"));
        let names: Vec<&str> = names.filter_map(|name| name.strip_prefix("llama-3.1-8b on 1 h100 GPU")).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn a_timeline_in_which_nothing_is_served_says_who_was_rejected() {
    let (folder, path) = new_path("timeline.json");
    failure_with_answer(&format!("run --requests 2 --max-model-len 99 --perfetto {path}"));
    let timeline = timeline(&folder);
    let events = list(&timeline, "/traceEvents");
    let reasons = events.iter().filter_map(|event| event.pointer("/args/reason"));
    assert_eq!(reasons.collect::<Vec<_>>(), ["too_long", "too_long"]);
    assert_eq!(events.len(), 4, "{timeline}");
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
    let (model, path) = (model.to_str().expect("UTF-8"), path.to_str().expect("UTF-8"));
    success(&format!("run --requests 1 --model {model} --perfetto {path}"));
    let title = timeline(&folder);
    let title = text(&title, "/traceEvents/0/args/name");
    assert!(title.ends_with("a\"b\\c on 1 h100 GPU"), "{title}");
}
