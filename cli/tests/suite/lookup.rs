//! `rooflut lookup`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use crate::support::{failure, json, list, number, success, text, unwrapped};
use rooflut::hardware::OperationKind;
use rooflut::table::sets;
use rooflut_roofline::operation::Codes;
use serde_json::Value;

const GEMM: &str = "lookup gemm --k 4096 --n 4096";

#[test]
fn a_measured_row_comes_back_as_it_is() {
    let answer = json(&format!("{GEMM} --m 64"));
    assert_eq!(text(&answer, "/class"), "measured");
    let row = list(&answer, "/neighbours").iter().find(|row| row["m"] == 64).expect("the row");
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
    let shares = list(&answer, "/matched").iter().map(|matched| number(matched, "/share"));
    assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9);
    for row in list(&answer, "/neighbours") {
        assert!([4096, 8192].map(Value::from).contains(&row["n"]));
        assert!([96, 128].map(Value::from).contains(&row["m"]));
    }
}

/// The command for the first row of an operation, and its latency.
fn first_row(operation: OperationKind) -> (String, f32) {
    let table = sets::H100.table(operation).expect("a table");
    let (row, us) = table.rows().next().expect("a row");
    let name = match operation {
        OperationKind::DeltaPrefill | OperationKind::DeltaDecode => "delta".to_owned(),
        operation => operation.name().replace('_', "-"),
    };
    let mut command = format!("lookup {name}");
    let codes: Codes = row.shape();
    for (column, code) in operation.declared().shape.iter().zip(codes) {
        let value = column.name_of(code).map(str::to_owned).unwrap_or_else(|| code.to_string());
        command += &format!(" --{} {value}", column.name.replace('_', "-"));
    }
    for (axis, value) in operation.declared().axes.iter().zip(row.point()) {
        // Axes of collectives say which message it is.
        let axis = axis.rsplit_once("_bytes").map_or(*axis, |_| "bytes");
        command += &format!(" --{} {value}", axis.replace('_', "-"));
    }
    (command, us)
}

#[test]
fn every_operation_is_looked_up_by_its_columns_and_axes() {
    for operation in OperationKind::ALL {
        let (command, us) = first_row(operation);
        let answer = json(&command);
        assert_eq!(text(&answer, "/operation"), operation.name());
        assert_eq!(text(&answer, "/class"), "measured", "{command}");
        let apart = number(&answer, "/latency_us") / f64::from(us) - 1.0;
        assert!(apart.abs() < 1e-6, "{command}: {answer}");
    }
}

#[test]
fn heads_are_those_of_all_ranks() {
    let of_one = "prefill-window --q-heads 2 --kv-heads 1 --head-dim 256 --window 1024";
    let of_all = "prefill-window --q-heads 16 --kv-heads 4 --tp 8 --head-dim 256 --window 1024";
    let [of_one, of_all] = [of_one, of_all].map(|kernel| success(&format!("lookup {kernel} --seq-len 128")));
    assert_eq!(of_one, of_all);
    let uneven = failure("lookup mla-decode --q-heads 128 --tp 3 --kv-len 9");
    assert_eq!(uneven, "--q-heads: expected a multiple of --tp 3, found 128");
}

#[test]
fn every_kernel_answers_in_both_forms() {
    for arguments in [
        "prefill --q-heads 32 --kv-heads 8 --head-dim 128 --batch 2 --seq-len 700",
        "decode --q-heads 64 --kv-heads 8 --tp 4 --batch 100 --kv-len 100000",
        "decode --q-heads 32 --kv-heads 8 --kv-dtype fp8 --kv-len 77",
        "prefill-window --q-heads 64 --kv-heads 8 --head-dim 64 --window 100 --batch 2 --seq-len 700",
        "decode-window --q-heads 64 --kv-heads 8 --tp 4 --head-dim 64 --window 128 --kv-len 3000",
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
    assert!(people.contains(" us for 95 % of measurements\n"), "{people}");
    // Too few rows of its own.
    let people = unwrapped("lookup allreduce --gpu b200 --ranks 2 --bytes 1");
    assert!(people.contains("of measurements, with errors as on h100"), "{people}");
}

#[test]
fn other_sets_can_be_asked() {
    let answer = json("lookup gemm --k 4096 --n 6144 --m 8 --gpu l40s");
    let own = json("lookup gemm --k 4096 --n 6144 --m 8");
    assert!(number(&answer, "/latency_us") > 2.0 * number(&own, "/latency_us"));
}
