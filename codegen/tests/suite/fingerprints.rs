//! `bench_data/fingerprints.csv` is up to date.
use crate::support::{Fixture, GPUS, bench_data};
use rooflut_codegen::{fingerprints, fingerprints_csv};

const COMMAND: &str = "cargo run -q -p rooflut-codegen --example fingerprints > bench_data/fingerprints.csv";

#[test]
fn the_committed_fingerprints_are_those_of_the_data() {
    let expected = fingerprints_csv(&bench_data()).unwrap();
    let found = std::fs::read_to_string(bench_data().join("fingerprints.csv")).unwrap_or_default();
    assert!(
        found.replace("\r\n", "\n") == expected,
        "bench_data/fingerprints.csv is not that of the data. If the data were meant to change, run\n\n    \
         {COMMAND}\n\nin the repository root, look at the difference and commit it.\n\nexpected\n\
         {expected}\nfound\n{found}"
    );
}

/// The line for a GEMM table with these rows.
fn line(rows: &str) -> String {
    let fingerprints = fingerprints(&Fixture::gemm(rows).dir(), GPUS).unwrap();
    assert_eq!(fingerprints.len(), 1);
    fingerprints[0].to_string()
}

#[test]
fn a_line_has_rows_bytes_range_and_hash() {
    let line = line("bf16,512,512,16,10\nbf16,512,512,32,12.5\n");
    assert!(line.starts_with("set,gemm.csv,2,24,10,12.5,"), "{line}");
    let hash = line.rsplit(',').next().unwrap();
    assert!(hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok(), "{hash}");
}

#[test]
fn any_change_of_a_value_changes_the_line_and_order_does_not() {
    let rows = "bf16,512,512,16,10\nbf16,512,512,32,10.5\nbf16,512,512,64,11\n";
    let original = line(rows);
    for (from, to) in [("10.5", "10.6"), ("512,512,32", "512,512,33"), ("bf16,512,512,32", "fp8,512,512,32")] {
        assert_ne!(line(&rows.replace(from, to)), original, "{to}");
    }
    let reversed: Vec<_> = rows.lines().rev().collect();
    assert_eq!(line(&reversed.join("\n")), original);
    // Equal latencies at other points.
    assert_ne!(line("bf16,512,512,16,10.5\nbf16,512,512,32,10\nbf16,512,512,64,11\n"), original);
}
