//! Rows faster than the GPU can be, and `mfu` columns that do not follow from the latency.

use crate::support::{ALLREDUCE, DECODE, Fixture, GEMM, MOE, bench_data};
use rooflut_codegen::read_set;

const HINT: &str =
    "check the dtype (an 8-bit table read as 16-bit looks like this), the shape and the unit";

#[test]
fn a_row_above_the_peak_is_refused() {
    // 2 x 1000 x 1000 x 1000 FLOP at 100 TFLOP/s take 20 us.
    let row = |latency| format!("bf16,1000,1000,1000,{latency}\n");
    assert!(Fixture::gemm(&row("20")).read().is_ok());
    assert_eq!(
        Fixture::gemm(&row("19.9")).refusal(),
        format!(
            "set/gemm.csv:2: latency_us: expected at most the bf16 peak of toy (100.00 TFLOP/s), \
             found 19.9, which is 100.50 TFLOP/s; {HINT}"
        )
    );
}

#[test]
fn traffic_less_the_l2_cache_above_the_bandwidth_is_refused() {
    // One row: weights of 2 x 4000 x 4000 = 32 MB, of which 10 MB may be in the L2 cache, take 22 us.
    let row = |latency| format!("bf16,4000,4000,1,{latency}\n");
    assert!(Fixture::gemm(&row("22.1")).read().is_ok());
    assert_eq!(
        Fixture::gemm(&row("21.9")).refusal(),
        format!(
            "set/gemm.csv:2: latency_us: expected at most the bandwidth of toy (1.000 TB/s), found \
             21.9, which is 1.005 TB/s of compulsory traffic beyond the L2 cache; {HINT}"
        )
    );
    // 2 x 2000 x 2000 = 8 MB may have been in the L2 cache.
    assert!(Fixture::gemm("bf16,2000,2000,1,5\n").read().is_ok());
}

#[test]
fn decode_traffic_counts_the_kv_entries() {
    let row = |kv_dtype| format!("{DECODE}bf16,{kv_dtype},8,8,128,1,16,1024,50\n");
    let fixture = |kv_dtype| Fixture::new().file("attention_decode.csv", row(kv_dtype));
    // 16 x 1024 x 2 x 8 x 128 = 33.6 MB at 8 bits, 67 MB at 16 bits, less 10 MB in 50 us.
    assert!(fixture("fp8").read().is_ok());
    let expected = " found 50, which is 1.143 TB/s of compulsory traffic beyond the L2 cache; ";
    assert!(fixture("bf16").refusal().contains(expected));
}

#[test]
fn moe_traffic_counts_the_weights_of_top_k_experts() {
    // An expert has 3 x 1024 x 2048 x 2 bytes = 12.6 MB, two less 10 MB take 15.2 us, eight 90.7 us.
    let fixture = |latency| {
        let csv = format!("{MOE}bf16,8,2,1024,2048,1,8,{latency}\n");
        Fixture::new().file("moe.csv", csv)
    };
    assert!(fixture("16").read().is_ok());
    let traffic = "TB/s of compulsory traffic";
    assert!(fixture("15").refusal().contains(traffic));
}

#[test]
fn an_all_reduce_above_the_link_is_refused() {
    // 1 MB over 50 GB/s takes 20 us.
    let fixture = |us| Fixture::new().file("allreduce.csv", format!("{ALLREDUCE}2,1000000,{us}\n"));
    assert!(fixture("20").read().is_ok());
    assert_eq!(
        fixture("19").refusal(),
        "set/allreduce.csv:2: latency_us: expected at most the link of toy (50.0 GB/s), found 19, \
         which is 52.6 GB/s per rank; check the unit, and that bytes are those of one rank's message"
    );
}

/// The mistake that this check is for: the published table has no dtype column, and reading it as
/// 16-bit puts it above the H100's peak.
#[test]
fn the_fp8_table_relabelled_bf16_is_refused() {
    let source = bench_data().join("h100-infersim");
    let gpus = std::fs::read_to_string(bench_data().join("gpus.toml")).unwrap();
    let gemm = std::fs::read_to_string(source.join("gemm.csv")).unwrap();
    let toml = std::fs::read_to_string(source.join("set.toml")).unwrap();
    let read = |gemm: &str| {
        let mut fixture = Fixture::new()
            .file("set.toml", &toml)
            .file("gemm.csv", gemm);
        for table in ["attention_prefill.csv", "attention_decode.csv"] {
            let text = std::fs::read_to_string(source.join(table)).unwrap();
            fixture = fixture.file(table, text);
        }
        read_set(&fixture.dir(), &gpus)
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    assert_eq!(read(&gemm), Ok(()));
    let relabelled = gemm.replace("fp8_block", "bf16");
    assert_ne!(relabelled, gemm);
    let message = read(&relabelled).unwrap_err();
    assert!(message.starts_with("set/gemm.csv:"), "{message}");
    assert!(message.contains("expected at most the "), "{message}");
    assert!(message.ends_with(HINT), "{message}");

    // Row by row: 58 rows are above the peak. The weights of others may have been in the L2 cache in part.
    let mut peak = 0;
    let header = relabelled.lines().next().unwrap();
    for row in relabelled.lines().skip(1) {
        match read(&format!("{header}\n{row}\n")) {
            Err(message) if message.contains("the bf16 peak of h100") => peak += 1,
            other => assert_eq!(other, Ok(())),
        }
    }
    assert_eq!(peak, 58);
}

/// 2 x 1000 x 1000 x 10 FLOP at 100 TFLOP/s take 0.2 us.
fn mfu_fixture(latency: &str, mfu: &str) -> Fixture {
    let csv = format!(
        "{},mfu\nbf16,1000,1000,10,{latency},{mfu}\n",
        GEMM.trim_end()
    );
    Fixture::new().file("gemm.csv", csv)
}

#[test]
fn an_mfu_column_that_agrees_is_accepted() {
    for (latency, mfu) in [
        ("10.0", "0.02"),
        ("10.0", "0.020"),
        ("10.0", "2e-2"),
        ("1e1", "0.02"),
        ("10.0000", "0.0200"),
        // The latency was rounded too: 3.95 us gives 0.0506.
        ("4.0", "0.0506"),
        // 0.0004 is 0.000 with three decimals.
        ("500.0", "0.000"),
        ("500.0", "0"),
        // Half-way.
        ("400.0", "0.001"),
        ("400.0", "0.000"),
    ] {
        let read = mfu_fixture(latency, mfu).read();
        assert!(read.is_ok(), "{latency} {mfu}: {}", read.err().unwrap());
    }
}

#[test]
fn an_mfu_column_that_disagrees_is_refused() {
    for (latency, mfu, expected) in [
        ("10.0", "0.022", "0.0200"),
        ("10.000", "0.0201", "0.02000"),
        ("4.00", "0.0506", "0.05000"),
        ("10.0", "0.000", "0.0200"),
        ("10.0", "3e-2", "0.0200"),
        ("10.0", "-0.02", "0.0200"),
        ("10.0", "2%", "0.0200"),
        ("10.0", "NaN", "0.0200"),
        ("10.0", "inf", "0.0200"),
        ("10.0", "", "0.0200"),
    ] {
        assert_eq!(
            mfu_fixture(latency, mfu).refusal(),
            format!(
                "set/gemm.csv:2: mfu: expected {expected} (from latency_us, FLOPs and peak), found \
                 \"{mfu}\"; check dtype, peak and FLOP formula, or remove the column"
            ),
            "{latency} {mfu}"
        );
    }
}
