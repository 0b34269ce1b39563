//! `rooflut-lab step`.

use crate::support::{json, number, success};
use serde_json::Value;

/// Values that the originals gave (milliseconds).
#[test]
fn the_predecessors_models_give_their_published_values() {
    for (model, arguments, expected) in [
        ("infersim", "--model llama-2-7b --prefill 1024", 67.47),
        ("infersim", "--model yi-34b --tp 2 --decode 16x4096", 21.55),
        ("blis", "--model llama-2-7b --prefill 1024", 28.380),
        ("calibrated", "--model llama-2-7b --prefill 1024", 13.170),
        ("calibrated", "--model qwen3-14b --tp 2 --prefill 20 --decode 96x3000", 15.170),
    ] {
        let base = format!("step --gpu h100-infersim --latency-model {model}");
        let answer = json(&format!("{base} {arguments}"));
        let total = number(&answer, "/total_ms");
        assert!((total / expected - 1.0).abs() < 1e-3, "{model}: {total} for {expected}");
        for unknown in ["binding", "interval", "engine"] {
            assert_eq!(answer[unknown], Value::Null, "{unknown}");
        }
    }
}

/// The note under the table, worked out with the table's own numbers.
#[test]
fn a_total_that_is_no_sum_says_how_it_follows() {
    let both = "--prefill 300 --decode 64x1000";
    for (model, batch, words) in [
        ("blis", both, "the longest of prefill_compute, prefill_memory, decode_compute and"),
        ("blis", "--decode 64x1000", "the longer of decode_compute and decode_memory, plus overhead"),
        ("calibrated", "--prefill 300", "the longer of prefill_compute and prefill_memory, plus overhead"),
        ("calibrated", both, "the mean of prefill (the longer of prefill_compute and"),
    ] {
        let arguments = format!("step --model llama-2-7b --latency-model {model} {batch}");
        let people = success(&arguments);
        assert!(people.contains(words), "{people}");
        let answer = json(&arguments);
        let part = |name: &str| answer["parts"][name].as_f64().unwrap_or(0.0);
        let phase = |name: &str| part(&format!("{name}_compute")).max(part(&format!("{name}_memory")));
        let (prefill, decode) = (phase("prefill"), phase("decode"));
        let phases = match model == "calibrated" && batch == both {
            // 300 of 364 tokens, and more than 100: the fixed shares.
            true => 0.75 * prefill + 0.25 * decode,
            false => prefill.max(decode),
        };
        let apart = number(&answer, "/total_ms") - phases - part("overhead");
        assert!(apart.abs() <= 0.00051, "{answer}");
    }
    let sum = success("step --decode 8x1000 --latency-model infersim");
    assert!(!sum.contains("whole microseconds"), "{sum}");
}

#[test]
fn parts_of_infersim_add_up_to_the_total() {
    let answer = json("step --latency-model infersim --gpu h100-infersim --prefill 1024");
    let parts = answer["parts"].as_object().expect("parts");
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    assert!((sum / number(&answer, "/total_ms") - 1.0).abs() < 1e-9, "{answer}");
}
