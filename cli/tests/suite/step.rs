//! `rooflut step`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use crate::support::{json, number, success, text, unwrapped};
use serde_json::Value;

fn sum_of_parts(answer: &Value) -> f64 {
    let parts = answer["parts"].as_object().expect("parts");
    parts.values().filter_map(Value::as_f64).sum()
}

#[test]
fn parts_add_up_to_the_total() {
    for arguments in [
        "--decode 64x1000",
        "--prefill 2048",
        "--prefill 512@1000 --prefill 20 --decode 8x100 --decode 1x9000",
        "--model mixtral-8x7b --tp 2 --decode 32x500",
        "--kv-dtype fp8 --decode 64x1000",
    ] {
        let answer = json(&format!("step {arguments}"));
        let total = number(&answer, "/total_ms");
        assert!(total > 0.0);
        assert!((sum_of_parts(&answer) / total - 1.0).abs() < 1e-9, "{answer}");
    }
}

#[test]
fn the_interval_has_the_coverage_that_is_asked_for() {
    let step = "step --decode 64x1000";
    let answer = json(step);
    let width = |answer: &Value| {
        let (low, high) = (number(answer, "/interval/low_ms"), number(answer, "/interval/high_ms"));
        assert!(low < number(answer, "/total_ms") && number(answer, "/total_ms") < high);
        high - low
    };
    assert!((number(&answer, "/interval/coverage") - 0.8).abs() < 1e-12);
    assert!(width(&json(&format!("{step} --interval 0.95"))) > width(&answer));
    let people = success(step);
    assert!(people.contains(" ms for 80 % of measurements\n"), "{people}");
}

#[test]
fn the_answer_names_what_binds_and_where_it_comes_from() {
    let decode = json("step --decode 8x1000");
    assert_eq!(text(&decode, "/binding"), "memory");
    let prefill = json("step --prefill 8192");
    assert_eq!(text(&prefill, "/binding"), "compute");
    assert_eq!(text(&prefill, "/latency_model"), "roofline");
    assert_eq!(text(&prefill, "/class"), "transferred");
    assert_eq!(text(&prefill, "/extent"), "inside");
    let long = json("step --decode 1x200000");
    assert_eq!(text(&long, "/extent"), "outside");
    assert_eq!(long["part_details"]["decode_attention"]["extent"], "outside");
    assert_eq!(long["part_details"]["qkv"]["extent"], "inside");
    assert_eq!(prefill["prefill_tokens"], 8192);
    assert_eq!(decode["decode_kv_tokens"], 8000);
}

#[test]
fn parts_are_told_in_detail_beside_their_times() {
    let answer = json("step --prefill 512 --decode 8x1000");
    let parts = answer["parts"].as_object().expect("parts");
    let details = answer["part_details"].as_object().expect("details");
    assert!(parts.keys().eq(details.keys()), "{answer}");
    for (name, ms) in parts {
        assert_eq!(&details[name]["ms"], ms);
        assert!(["compute", "memory", "latency", "link"].contains(&text(&details[name], "/binding")), "{answer}");
    }
    assert_eq!(details["sampling"]["source"], "fitted");
    assert_eq!(details["sampling"]["class"], Value::Null);
    assert_eq!(details["decode_attention"]["source"], "tables");
    // A GPU does not sustain the math of the table's row.
    assert_eq!(details["qkv"]["source"], "both");
    assert_eq!(details["qkv"]["class"], "interpolated");
    assert_eq!(details["decode_attention"]["class"], "smoothed");
    assert_eq!(details["qkv"]["extent"], "inside");
    assert!(number(&answer, "/fitted_share") > 0.05);
}

#[test]
fn kernels_have_their_shape_and_work_and_the_gpu_its_peaks() {
    let answer = json("step --tp 2 --dtype fp8 --decode 64x1000");
    let kernels = answer["kernels"].as_array().expect("kernels");
    let of_part = |part: &str| kernels.iter().filter(|kernel| kernel["part"] == part).collect::<Vec<_>>();
    let [down] = of_part("down")[..] else { panic!("{answer}") };
    assert_eq!(down["shape"], serde_json::json!({"dtype": "fp8", "k": 7_168, "n": 4_096}));
    assert_eq!((text(down, "/operation"), text(down, "/dtype")), ("gemm", "fp8"));
    let flops = 32.0 * 2.0 * 64.0 * 7_168.0 * 4_096.0;
    assert_eq!((number(down, "/calls"), number(down, "/flops")), (32.0, flops));
    assert!((number(&answer, "/part_details/down/flops") - flops).abs() < 0.5);
    assert_eq!(down["link_bytes"], 0.0);
    assert!(number(&answer, "/part_details/all_reduce/link_bytes") > 0.0);
    // Sampling is a fitted constant.
    assert_eq!(answer["part_details"]["sampling"]["bytes"], Value::Null);
    assert_eq!(of_part("sampling")[0]["flops"], Value::Null);
    let ms: f64 = kernels.iter().map(|kernel| number(kernel, "/ms")).sum();
    assert!((ms / number(&answer, "/total_ms") - 1.0).abs() < 1e-9, "{ms}");
    let peak = number(&answer, "/peaks/flops_per_s/fp8");
    assert!(flops / (number(down, "/ms") * 1e-3) < peak);
    assert!(number(&answer, "/peaks/mem_bw_bytes_per_s") > 1e12);
}

#[test]
fn experts_are_fitted_at_few_tokens_and_looked_up_at_many() {
    let step = |batch: &str| json(&format!("step --model mixtral-8x7b --tp 2 {batch}"));
    let few = step("--decode 1x500");
    assert_eq!(text(&few, "/part_details/moe/source"), "fitted");
    assert!(number(&few, "/part_details/moe/fitted_share") >= 1.0);
    let many = step("--prefill 1024");
    assert_eq!(text(&many, "/part_details/moe/source"), "both");
    let share = number(&many, "/part_details/moe/fitted_share");
    assert!(share > 0.0 && share < 1.0, "{share}");
    assert_eq!(text(&many, "/part_details/moe/class"), "measured");
}

#[test]
fn weights_of_another_format_change_the_step_and_its_heading() {
    let step = |more: &str| json(&format!("step --decode 1x500 {more}"));
    let total = |more: &str| number(&step(more), "/total_ms");
    let own = total("");
    assert!(total("--dtype fp8") < 0.8 * own);
    assert!((total("--dtype bf16") / own - 1.0).abs() < f64::EPSILON);
    let people = success("step --decode 1x500 --dtype fp8");
    let heading = "One step of llama-3.1-8b (fp8 weights) on 1 h100 GPU, roofline model\n";
    assert!(people.starts_with(heading), "{people}");
    // A model with 8-bit experts, its own and with 16-bit ones.
    let scout = "--model llama-4-scout";
    let own = step(scout);
    let bf16 = step(&format!("{scout} --dtype bf16"));
    assert_eq!((text(&own, "/weight_dtype"), text(&own, "/expert_dtype")), ("bf16", "fp8"));
    assert_eq!(text(&bf16, "/expert_dtype"), "bf16");
    assert!(number(&bf16, "/parts/moe") > number(&own, "/parts/moe"));
}

#[test]
fn a_step_that_uses_a_flagged_row_names_it() {
    // `rooflut-lab tables check bench_data/a100` flags it.
    let flags = "--gpu a100 --tp 4 --prefill 2048";
    let rows = &json(&format!("step {flags}"))["flagged_rows"];
    assert_eq!(rows[0]["row"], "allreduce, ranks 4, bytes 16777216");
    assert_eq!(rows[0]["latency_us"], 182.5);
    let change = rows[0]["parts"]["all_reduce"].as_f64();
    assert!(change.is_some_and(|change| (-0.3..-0.1).contains(&change)), "{rows}");
    let text = unwrapped(&format!("step {flags}"));
    let note = "flags is used: allreduce, ranks 4, bytes 16777216, 182.5 us, expected about 143 us from the rows \
                beside it; with that time, all_reduce takes 20 % less time";
    assert!(text.contains(note), "{text}");
    assert_eq!(json("step --decode 64x1000")["flagged_rows"], serde_json::json!([]));
    // At m = 1 the fp8 row of o_proj is slower than the next.
    let flags = "--gpu h200 --dtype fp8 --decode 1x1000";
    let dips = &json(&format!("step {flags}"))["flagged_rows"][0];
    assert_eq!(dips["row"], "gemm fp8, 111 rows slower than the next row with more work");
    assert_eq!((&dips["latency_us"], &dips["expected_us"]), (&Value::Null, &Value::Null));
    let change = number(dips, "/parts/o_proj");
    assert!((-0.3..-0.1).contains(&change), "{dips}");
    let note = "flags are used: gemm fp8, 111 rows slower than the next row with more work; with the time of the next \
                row, o_proj takes 14 % less time";
    let text = unwrapped(&format!("step {flags}"));
    assert!(text.contains(note), "{text}");
    let other = json("step --gpu h200 --dtype fp8 --decode 16x1000");
    assert_eq!(other["flagged_rows"], serde_json::json!([]));
    // So does a run.
    let run = "run --gpu a100 --tp 4 --prompt 2000 --output 4 --requests 50 --rate 40";
    assert_eq!(json(run)["flagged_rows"][0]["row"], rows[0]["row"]);
    assert!(success(run).contains("warning "));
    assert_eq!(json("run --requests 50")["flagged_rows"], serde_json::json!([]));
}
