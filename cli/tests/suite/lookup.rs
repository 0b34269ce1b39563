//! `rooflut lookup`.

use crate::support::{json, list, number, success, text, unwrapped};
use serde_json::Value;

const GEMM: &str = "lookup gemm --k 4096 --n 4096";

#[test]
fn a_measured_row_comes_back_as_it_is() {
    let answer = json(&format!("{GEMM} --m 64"));
    assert_eq!(text(&answer, "/class"), "measured");
    let row = list(&answer, "/neighbours")
        .iter()
        .find(|row| row["m"] == 64)
        .expect("the row");
    let apart = number(&answer, "/latency_us") - number(row, "/latency_us");
    assert!(apart.abs() < 1e-3, "{answer}");
    let mfu = number(&answer, "/mfu");
    let flops_per_s = 2.0 * 64.0 * 4096.0 * 4096.0 / (number(&answer, "/latency_us") * 1e-6);
    assert!((mfu - flops_per_s / 989.5e12).abs() < 1e-6);
}

#[test]
fn an_answer_between_rows_names_its_neighbours_and_their_shares() {
    let answer = json("lookup gemm --k 4096 --n 6144 --m 100");
    assert_eq!(text(&answer, "/class"), "interpolated");
    let shares = list(&answer, "/matched")
        .iter()
        .map(|matched| number(matched, "/share"));
    assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9);
    for row in list(&answer, "/neighbours") {
        assert!([4096, 8192].map(Value::from).contains(&row["n"]));
        assert!([96, 128].map(Value::from).contains(&row["m"]));
    }
}

#[test]
fn every_kernel_answers_in_both_forms() {
    for arguments in [
        "prefill --q-heads 32 --kv-heads 8 --head-dim 128 --batch 2 --seq-len 700",
        "decode --q-heads 64 --kv-heads 8 --tp 4 --batch 100 --kv-len 100000",
        "decode --q-heads 32 --kv-heads 8 --kv-dtype fp8 --kv-len 77",
        "allreduce --ranks 4 --bytes 1000000",
        "allgather --ranks 8 --bytes 1000000",
        "reducescatter --ranks 3 --bytes 1000000",
        "mla-prefill --q-heads 128 --tp 8 --batch 2 --seq-len 700",
        "mla-decode --q-heads 16 --dtype fp8_block --kv-dtype fp8 --batch 100 --kv-len 3000",
        "dsa-prefill --q-heads 128 --tp 8 --dtype fp8_block --batch 2 --seq-len 7000",
        "dsa-decode --q-heads 16 --dtype fp8_block --kv-dtype fp8 --batch 100 --kv-len 3000",
        "moe --experts 8 --top-k 2 --hidden 4096 --intermediate 14336 --tp 2 --tokens 70",
    ] {
        let arguments = format!("lookup {arguments}");
        let answer = json(&arguments);
        let latency_us = number(&answer, "/latency_us");
        assert!(latency_us > 1.0);
        assert!(number(&answer, "/interval/low_us") < latency_us);
        assert!(number(&answer, "/interval/high_us") > latency_us);
        assert!(!list(&answer, "/neighbours").is_empty(), "{answer}");
        let people = success(&arguments);
        assert!(people.contains("latency us"), "{people}");
        assert!(people.lines().all(|line| line.len() <= 100), "{people}");
    }
}

#[test]
fn the_interval_has_the_coverage_that_is_asked_for() {
    let answer = json(&format!("{GEMM} --m 64"));
    assert!((number(&answer, "/interval/coverage") - 0.8).abs() < 1e-12);
    assert_eq!(text(&answer, "/interval/errors"), "h100 gemm bf16 measured");
    let wider = json(&format!("{GEMM} --m 64 --interval 0.95"));
    let high_us = |answer| number(answer, "/interval/high_us");
    assert!(high_us(&wider) > high_us(&answer));
    let people = success(&format!("{GEMM} --m 64 --interval 0.95"));
    assert!(
        people.contains(" us for 95 % of measurements\n"),
        "{people}"
    );
    // Too few rows of its own.
    let people = unwrapped("lookup allreduce --gpu b200 --ranks 2 --bytes 1");
    assert!(
        people.contains("of measurements, with errors as on h100"),
        "{people}"
    );
}

#[test]
fn other_sets_can_be_asked() {
    let answer = json("lookup gemm --k 4096 --n 6144 --m 8 --gpu l40s");
    let own = json("lookup gemm --k 4096 --n 6144 --m 8");
    assert!(number(&answer, "/latency_us") > 2.0 * number(&own, "/latency_us"));
}
