//! Known defects of published files, from the file to the report.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code outside of test functions"
)]

use std::fmt::Write;

use crate::support::{H100, answers, data, imported, written};
use rooflut_codegen::read_set;
use rooflut_error::{Error, Kind};
use rooflut_import::{Answers, FloorRows, Import, Layout};
use rooflut_roofline::Dtype;

const GEMM: &str = "bench_data/gemm/h100/data.csv";
const DECODE: &str = "bench_data/mha/decode/h100/32-8-128.csv";

fn import(path: &str, text: &str, answers: &Answers) -> Result<Import, Error> {
    imported(Layout::InferSim, &[(path.to_owned(), text.to_owned())], answers)
}

fn finding<'i>(import: &'i Import, defect: &str) -> &'i str {
    let found = import.report.findings.iter().find(|found| found.defect == defect);
    &found.unwrap_or_else(|| panic!("no {defect} in {:?}", import.report.findings)).text
}

/// The reasons for which rows were left out, with their numbers.
fn left_out(import: &Import) -> Vec<(&str, &str)> {
    let rows = import.report.left_out.iter();
    rows.map(|rows| (rows.reason.as_str(), rows.places.as_str())).collect()
}

#[test]
fn appended_blocks_with_their_header_are_recognised() {
    let block = "m,k,n,latency_us\n8,4096,4096,12.5\n16,4096,4096,12.75\n";
    let other = "m,k,n,latency_us\n8,4096,4096,13.5\n16,4096,4096,12.75\n";
    let text = [block, other, block].concat();
    let import = import(GEMM, &text, &answers(&H100)).unwrap();
    assert_eq!(written(&import).values().copied().collect::<Vec<_>>(), [12.5, 12.75]);
    assert!(finding(&import, "repeated header").contains("3 blocks"));
    assert!(finding(&import, "repeated").contains("2 kernels in the files several times: 3 rows"));
    let reasons = [
        ("the header again", "4, 7"),
        ("repeated with the same latency", "6, 8-9"),
        ("repeated with another latency: the middle one is kept", "5"),
    ];
    assert_eq!(left_out(&import), reasons);
}

#[test]
fn cells_that_are_no_numbers_are_left_out_with_their_lines() {
    let text = "m,k,n,latency_us\n8,4096,4096,12.5\n16,4096,4096,-\n32,4096,0,13\n64,4096,4096\n,,,\n";
    let import = import(GEMM, text, &answers(&H100)).unwrap();
    assert_eq!(written(&import).len(), 1);
    let report = import.report.to_string();
    for line in [
        "line 3: a value of the wrong type or range: latency_us: expected a positive time, found \"-\"",
        "line 4: a value of the wrong type or range: n: expected a positive whole number, found \"0\"",
        "line 5: more or fewer cells than columns: expected 4 cells, found 3",
        "line 6: no values",
        "gemm: 5 = 1 + 4",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
}

#[test]
fn a_column_that_tells_two_latencies_apart_is_asked_about_and_a_measurement_is_not() {
    let text = "m,k,n,latency_us,kernel,tflops\n\
        8,4096,4096,12.5,a,21.5\n8,4096,4096,13.5,b,19.9\n16,4096,4096,13,a,41.3\n";
    let error = import(GEMM, text, &answers(&H100)).unwrap_err();
    assert_eq!(error.kind(), Kind::Contents);
    let message = error.to_string();
    assert!(message.contains("differ in kernel (a, b); select one"), "{message}");
    let repeated = text.replace(",b,", ",a,");
    let import = import(GEMM, &repeated, &answers(&H100)).unwrap();
    assert!(finding(&import, "repeated").contains("8.0 % apart"));
}

#[test]
fn an_empty_file_is_reported() {
    let files =
        [(GEMM.to_owned(), "m,k,n,latency_us\n8,4096,4096,12.5\n".to_owned()), (DECODE.to_owned(), String::new())];
    let import = imported(Layout::InferSim, &files, &answers(&H100)).unwrap();
    assert_eq!(import.report.not_imported[0].why, "an empty file");
}

#[test]
fn rows_at_the_floor_of_eager_launches_stay_unless_they_are_not_wanted() {
    let text = "batch_size,kv_len,latency_us\n1,512,22.5\n1,4096,22.9\n1,8192,23.1\n1,131072,190.5\n";
    let kept = import(DECODE, text, &answers(&H100)).unwrap();
    assert!(finding(&kept, "eager floor").starts_with("3 of 4 rows take 22.5 to 23.1 us"));
    assert_eq!(written(&kept).len(), 4);
    let answers = Answers { floor: FloorRows::Drop, ..answers(&H100) };
    let dropped = import(DECODE, text, &answers).unwrap();
    assert_eq!(written(&dropped).len(), 1);
    assert_eq!(left_out(&dropped), [("at the floor of eager launches (--drop-floor)", "2-4")]);
}

#[test]
fn the_peak_that_an_mfu_belongs_to_is_found() {
    let table = |peak: f64| {
        let mut text = String::from("m,k,n,latency_us,mfu\n");
        for (m, us) in [(512, 30.0), (1024, 55.0), (4096, 210.0)] {
            let mfu = 2.0 * f64::from(m) * 4096.0 * 4096.0 / (us * 1e-6) / peak;
            writeln!(text, "{m},4096,4096,{us},{mfu:.3}").unwrap();
        }
        text
    };
    let fits = import(GEMM, &table(989.5e12), &answers(&H100)).unwrap();
    assert!(fits.report.findings.is_empty(), "{:?}", fits.report.findings);
    let fp8 = import(GEMM, &table(1979e12), &answers(&H100)).unwrap();
    assert!(finding(&fp8, "peak").contains("nearly all fit the peak of h100 fp8"));
    let other = import(GEMM, &table(148e12), &answers(&H100)).unwrap();
    assert!(finding(&other, "peak").contains("they imply 148.0 TFLOP/s"));
    let stated = Answers { mfu_peak_flops_per_s: Some(148e12), ..answers(&H100) };
    let stated = import(GEMM, &table(148e12), &stated).unwrap();
    assert!(stated.report.findings.is_empty(), "{:?}", stated.report.findings);
}

#[test]
fn a_format_that_the_gpu_cannot_do_is_left_out_by_name() {
    let mut a100 = H100.clone();
    a100.name = "a100".into();
    a100.fp8_flops_per_s = None;
    let text = "dtype,m,k,n,latency_us\nbf16,8,4096,4096,25\nfp8,8,4096,4096,25\n";
    let answers = Answers { folders: vec!["h100".to_owned()], ..answers(&a100) };
    let import = import(GEMM, text, &answers).unwrap();
    assert_eq!(left_out(&import), [("a format that the GPU has no peak for", "3")]);
    assert_eq!(import.report.left_out[0].detail, "fp8 on a100");
}

#[test]
fn more_points_than_a_set_can_hold_are_thinned_out_to_just_as_many() {
    let table = |points: u32| {
        let mut text = String::from("m,k,n,latency_us\n");
        (1..=points).for_each(|m| writeln!(text, "{},4096,4096,{}", m * 8, 20 + m).unwrap());
        text
    };
    let answers = Answers { dtype: Some(Dtype::Fp8), ..answers(&H100) };
    for points in [32, 33, 200] {
        let import = import(GEMM, &table(points), &answers).unwrap();
        assert_eq!(written(&import).len(), 32);
        let folder = tempfile::tempdir().unwrap();
        for file in &import.files {
            std::fs::write(folder.path().join(file.name), &file.text).unwrap();
        }
        let gpus = std::fs::read_to_string(data("gpus.toml")).unwrap();
        read_set(folder.path(), &gpus).unwrap();
        // One more is what codegen refuses: the importer's limit is its limit.
        let csv = folder.path().join("gemm.csv");
        let more = format!("{}fp8,4096,4096,99999,9999\n", import.files[1].text);
        std::fs::write(csv, more).unwrap();
        let refused = read_set(folder.path(), &gpus).err().unwrap().to_string();
        assert!(refused.contains("at most 32"), "{refused}");
    }
}
