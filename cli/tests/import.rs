//! `rooflut import`, on made-up files in the layouts as they are published.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of tests fails as tests do"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{failure, json, list, success, text, workspace};
use tempfile::TempDir;

const FIXTURES: &str = "cli/tests/fixtures/import";

/// What no file of any layout says.
const SAID: [&str; 10] = [
    "--gpu",
    "h100",
    "--timing",
    "made up",
    "--source",
    "a test",
    "--license",
    "MIT",
    "--date",
    "2026-01-31",
];

/// For InferSim's and BLIS's trees.
const TREE: [&str; 6] = [
    "--engine",
    "DeepGEMM",
    "--gemm-dtype",
    "fp8_block",
    "--kv-dtype",
    "bf16",
];

/// A place for a set that does not exist yet, below a folder that goes with the value.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        Place {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn dest(&self) -> PathBuf {
        self.folder.path().join("mine")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.dest().join(file)).expect("a file of the set")
    }

    /// The arguments that import `src` to here.
    fn arguments(&self, layout: &str, src: &str, more: &[&str]) -> Vec<String> {
        let dest = self.dest();
        let dest = dest.to_str().expect("UTF-8");
        let given = ["import", layout, src, dest]
            .into_iter()
            .chain(more.iter().copied());
        given.map(str::to_owned).collect()
    }

    fn import(&self, layout: &str, src: &str, more: &[&str]) -> Value {
        let arguments = self.arguments(layout, src, more);
        let answer = json(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        for table in list(&answer, "/tables") {
            let left_out: u64 = list(table, "/left_out")
                .iter()
                .map(|reason| rows(reason, "/rows"))
                .sum();
            assert_eq!(
                rows(table, "/read"),
                rows(table, "/written") + left_out,
                "{table}"
            );
        }
        answer
    }

    fn refused(&self, layout: &str, src: &str, more: &[&str]) -> String {
        let arguments = self.arguments(layout, src, more);
        let message = failure(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let left: Vec<_> = self.folder.path().read_dir().expect("a folder").collect();
        assert!(
            left.iter()
                .flatten()
                .all(|entry| entry.file_name() == "mine"),
            "{left:?}"
        );
        message
    }
}

/// A number of rows in an answer.
fn rows(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {value}"))
}

fn fixture(layout: &str) -> String {
    format!("{FIXTURES}/{layout}")
}

/// What was written of an operation, and how many were left out for reasons that have `reason` in them.
fn counts(answer: &Value, operation: &str, reason: &str) -> (u64, u64) {
    let mut tables = list(answer, "/tables").iter();
    let table = tables
        .find(|table| text(table, "/operation") == operation)
        .expect("the operation");
    let left_out = list(table, "/left_out")
        .iter()
        .filter(|left_out| text(left_out, "/reason").contains(reason));
    (
        rows(table, "/written"),
        left_out.map(|left_out| rows(left_out, "/rows")).sum(),
    )
}

fn has_finding(answer: &Value, operation: &str, defect: &str) -> bool {
    let mut findings = list(answer, "/findings").iter();
    findings.any(|found| text(found, "/operation") == operation && text(found, "/defect") == defect)
}

#[test]
fn a_tree_of_blis_becomes_a_set_and_its_defects_are_told() {
    let place = Place::new();
    let answer = place.import("blis", &fixture("blis"), &[&SAID[..], &TREE].concat());
    assert_eq!(
        counts(&answer, "gemm", "repeated with the same latency"),
        (8, 1)
    );
    assert_eq!(counts(&answer, "prefill", ""), (3, 0));
    assert_eq!(counts(&answer, "decode", "warm-up"), (10, 1));
    assert_eq!(
        counts(&answer, "decode", "faster than the GPU can be"),
        (10, 1)
    );
    for defect in ["warm-up", "eager floor", "mfu of 0", "ragged grid"] {
        assert!(has_finding(&answer, "decode", defect), "{defect}");
    }
    let not_imported: Vec<&str> = list(&answer, "/not_imported")
        .iter()
        .map(|file| text(file, "/why"))
        .collect();
    assert_eq!(not_imported.len(), 3);
    assert!(not_imported[0].contains("folder h20"), "{not_imported:?}");
    assert!(not_imported[1].contains("grouped GEMM"), "{not_imported:?}");
    assert!(
        not_imported[2].contains("multi-head latent attention"),
        "{not_imported:?}"
    );

    assert!(
        place
            .read("gemm.csv")
            .starts_with("dtype,k,n,m,latency_us\nfp8_block,4096,4096,8,9.5\n")
    );
    assert!(
        place
            .read("attention_decode.csv")
            .contains("\nbf16,bf16,32,8,128,2,32,4096,101.4\n")
    );
    let report = place.read("import-report.txt");
    assert!(
        report.contains("32-8-128-tp1.csv: line 2: the first row of its file"),
        "{report}"
    );
    assert!(
        report.contains("data.csv: line 10: repeated with the same latency"),
        "{report}"
    );
    assert!(
        place
            .read("set.toml")
            .starts_with("name = \"mine\"\ngpu = \"h100\"\n")
    );
    // What was written is what other commands read.
    let gemm = place.dest().join("gemm.csv");
    let score = json(&[
        "tables",
        "score",
        gemm.to_str().expect("UTF-8"),
        "--gpu",
        "h100-infersim",
    ]);
    assert_eq!(list(&score, "/rows").len(), 8);
}

#[test]
fn people_see_what_became_of_all_rows() {
    let place = Place::new();
    let arguments = place.arguments("blis", &fixture("blis"), &[&SAID[..], &TREE].concat());
    let told = success(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    for part in [
        "gemm                9  read",
        "8  written",
        "1  left out: repeated",
        "eager floor",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn what_the_files_do_not_say_is_asked_for_all_at_once() {
    let place = Place::new();
    let message = place.refused("blis", &fixture("blis"), &["--name", "mine"]);
    let flags = [
        "--gpu",
        "--gemm-dtype",
        "--kv-dtype",
        "--engine",
        "--timing",
        "--source",
        "--license",
        "--date",
    ];
    for flag in flags {
        assert!(message.contains(&format!("{flag} (")), "{flag}: {message}");
    }
    assert!(
        message.contains("a100, b200, h100, h200, l40s"),
        "{message}"
    );
    assert!(
        !message.contains("--name") && !message.contains("--folder"),
        "{message}"
    );
    // Another GPU than the folders are of.
    let said = [&["--gpu", "l40s"], &SAID[2..], &TREE].concat();
    let message = place.refused("infersim", &fixture("blis"), &said);
    assert!(
        message.contains("--folder (") && message.contains("h100, h20"),
        "{message}"
    );
}

#[test]
fn fp8_gemms_are_not_read_as_bf16() {
    let place = Place::new();
    let said = [&SAID[..], &TREE, &["--gemm-dtype", "bf16"]].concat();
    let said: Vec<&str> = said
        .into_iter()
        .filter(|part| *part != "fp8_block")
        .collect();
    // The flag that stood before the value is gone with it.
    let said: Vec<&str> = {
        let first = said
            .iter()
            .position(|part| *part == "--gemm-dtype")
            .expect("the flag");
        said.iter()
            .enumerate()
            .filter(|(index, _)| *index != first)
            .map(|(_, part)| *part)
            .collect()
    };
    let message = place.refused("blis", &fixture("blis"), &said);
    assert!(message.contains("faster than the GPU can be"), "{message}");
    assert!(message.contains("(fitting: fp8, fp8_block)"), "{message}");
    assert!(!place.dest().exists());
}

#[test]
fn tables_of_aiconfigurator_say_most_themselves() {
    let place = Place::new();
    let src = fixture("aiconfigurator");
    let message = place.refused("aiconfigurator", &src, &SAID);
    assert!(
        message.contains("distribution (balanced, power_law_1.01)"),
        "{message}"
    );
    assert!(
        message.contains("--where distribution=balanced"),
        "{message}"
    );
    let said = [&SAID[..], &["--where", "distribution=power_law_1.01"]].concat();
    let answer = place.import("aiconfigurator", &src, &said);
    assert_eq!(
        counts(&answer, "gemm", "a format that table sets do not know"),
        (10, 1)
    );
    assert_eq!(counts(&answer, "prefill", "cached tokens"), (5, 1));
    assert_eq!(counts(&answer, "decode", ""), (4, 0));
    assert_eq!(counts(&answer, "moe", "experts on several ranks"), (2, 0));
    assert_eq!(counts(&answer, "moe", "not selected"), (2, 3));
    // Milliseconds, elements of two bytes, what was cached and the new token.
    assert!(
        place
            .read("moe.csv")
            .contains("bf16,8,2,4096,14336,2,1,131.2\n")
    );
    assert!(place.read("allreduce.csv").contains("2,256,4.29\n"));
    assert!(
        place
            .read("attention_decode.csv")
            .contains("bf16,bf16,32,8,128,1,64,1024,100.2\n")
    );
    assert!(
        place
            .read("set.toml")
            .contains("engine = \"VLLM 0.24.0\"\n")
    );
    // A format that the library does not know may be one that it does.
    let said = [&said[..], &["--dtype-name", "int8_wo=fp8_block", "--force"]].concat();
    let answer = place.import("aiconfigurator", &src, &said);
    assert_eq!(counts(&answer, "gemm", "format"), (11, 0));
}

#[test]
fn profiles_of_vidur_hold_four_gemms_a_row() {
    let place = Place::new();
    let said = [&SAID[..], &["--engine", "vLLM", "--dtype", "bf16"]].concat();
    let answer = place.import("vidur", &fixture("vidur"), &said);
    assert_eq!(counts(&answer, "gemm", "do not fit each other"), (19, 1));
    assert_eq!(counts(&answer, "allreduce", "several nodes"), (3, 1));
    assert_eq!(
        counts(&answer, "allreduce", "repeated with another latency"),
        (3, 1)
    );
    assert!(
        place
            .read("gemm.csv")
            .contains("bf16,4096,28672,512,153.4\n")
    );
    assert_eq!(list(&answer, "/not_imported").len(), 2);
    let said = [&said[..], &["--statistic", "mean", "--force"]].concat();
    place.import("vidur", &fixture("vidur"), &said);
    assert!(
        place
            .read("gemm.csv")
            .contains("bf16,4096,28672,512,156.468\n")
    );
}

#[test]
fn a_file_without_a_header_needs_one() {
    let place = Place::new();
    let src = place.folder.path().join("mine").join("src").join("gemm");
    fs::create_dir_all(&src).expect("a folder");
    fs::write(src.join("data.csv"), "8,4096,6144,9.5\n64,4096,6144,9.9\n").expect("a file");
    let other = Place::new();
    let src = src.to_str().expect("UTF-8");
    let said = [&SAID[..], &TREE].concat();
    let message = other.refused("infersim", src, &said);
    assert!(message.contains("--header gemm=COLUMNS ("), "{message}");
    let with = |columns| [&said[..], &["--header", columns]].concat();
    let message = other.refused("infersim", src, &with("gemm=m,k,n"));
    assert!(message.contains("its 4 columns, found 3"), "{message}");
    let answer = other.import("infersim", src, &with("gemm=m,k,n,latency_us"));
    assert_eq!(counts(&answer, "gemm", ""), (2, 0));
    assert!(has_finding(&answer, "gemm", "no header"));
}

#[test]
fn columns_that_are_missing_are_named_with_what_may_be_meant() {
    let place = Place::new();
    let src = TempDir::new().expect("a folder");
    let csv = "m,k,n,latency(us),gflops\n8,4096,6144,9.5,1\n";
    fs::create_dir(src.path().join("gemm")).expect("a folder");
    fs::write(src.path().join("gemm/data.csv"), csv).expect("a file");
    let src = src.path().to_str().expect("UTF-8");
    let said = [&SAID[..], &TREE].concat();
    let message = place.refused("infersim", src, &said);
    assert!(
        message.contains("gemm/data.csv: expected the columns m,k,n,latency_us, found"),
        "{message}"
    );
    assert!(
        message.contains("missing: latency_us (is it latency(us)?)"),
        "{message}"
    );
    let skipped = [&said[..], &["--skip", "gemm"]].concat();
    let message = place.refused("infersim", src, &skipped);
    assert!(
        message.contains("found none") && message.contains("left out by --skip"),
        "{message}"
    );
    let wrong = [&said[..], &["--where", "gflop=1"]].concat();
    fs::write(
        Path::new(src).join("gemm/data.csv"),
        csv.replace("(us)", "_us"),
    )
    .expect("a file");
    let message = place.refused("infersim", src, &wrong);
    assert!(
        message.contains("none called gflop") && message.contains("gflops"),
        "{message}"
    );
}

#[test]
fn only_mla_tables_are_no_set() {
    let place = Place::new();
    let src = format!("{}/bench_data/mla", fixture("blis"));
    let message = place.refused("blis", &src, &SAID);
    assert!(message.contains("multi-head latent attention"), "{message}");
}

#[test]
fn a_folder_that_is_not_empty_is_replaced_only_by_force_and_only_if_it_is_a_set() {
    let place = Place::new();
    let said = [&SAID[..], &TREE].concat();
    let src = fixture("blis");
    fs::create_dir(place.dest()).expect("a folder");
    place.import("blis", &src, &said);
    let message = place.refused("blis", &src, &said);
    assert!(
        message.contains("expected a new or empty folder"),
        "{message}"
    );
    let old = place.read("gemm.csv");
    fs::write(place.dest().join("moe.csv"), "old").expect("a file");
    let forced = [&said[..], &["--force"]].concat();
    place.import("blis", &src, &forced);
    assert_eq!(place.read("gemm.csv"), old);
    assert!(!place.dest().join("moe.csv").exists());
    fs::write(place.dest().join("notes.md"), "mine").expect("a file");
    let message = place.refused("blis", &src, &forced);
    assert!(message.contains("found other files"), "{message}");
    assert_eq!(place.read("notes.md"), "mine");
}

#[test]
fn an_import_that_fails_leaves_the_old_set_as_it_was() {
    let place = Place::new();
    let said = [&SAID[..], &TREE].concat();
    let src = fixture("blis");
    place.import("blis", &src, &said);
    let old = place.read("set.toml");
    let wrong = [&said[..], &["--force", "--name", "Not A Name"]].concat();
    let message = place.refused("blis", &src, &wrong);
    assert!(
        message.starts_with("mine/set.toml:1: name: expected lower-case letters"),
        "{message}"
    );
    assert_eq!(place.read("set.toml"), old);
}

#[test]
fn a_gpu_that_the_library_does_not_know_has_its_own_sheet() {
    let place = Place::new();
    let sheet = place.folder.path().join("mine.toml");
    let toml = "[gpu]\nname = \"h100-nvl\"\ndescription = \"H100 NVL\"\nbf16_tflops = 835.0\n\
        fp8_tflops = 1671.0\nmem_bytes = 94000000000\nmem_bw_gb_per_s = 3900.0\nl2_bytes = 50000000\n\
        sms = 132\nlink_gb_per_s = 300.0\nsource = \"data sheet\"\n";
    fs::write(&sheet, toml).expect("a file");
    let sheet = sheet.to_str().expect("UTF-8");
    let said = [
        &["--gpu-sheet", sheet, "--folder", "h100"],
        &SAID[2..],
        &TREE,
    ]
    .concat();
    let answer = place.import("blis", &fixture("blis"), &said);
    assert_eq!(text(&answer, "/gpu"), "h100-nvl");
    assert!(has_finding(&answer, "decode", "peak"));
    assert!(
        place
            .read("set.toml")
            .contains("\n[gpu]\nname = \"h100-nvl\"\n")
    );
}

#[test]
fn what_is_no_layout_or_gpu_comes_with_the_nearest() {
    assert!(failure(&["import", "infer", "a", "b"]).contains("infersim"));
    let message = failure(&["import", "vidur", "a", "b", "--gpu", "h10"]);
    assert!(message.contains("nearest: h100"), "{message}");
    assert!(
        failure(&["import", "vidur", "no-such-folder", "b"]).contains("cannot read no-such-folder")
    );
    assert!(!workspace().join("b").exists());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_a_reader_of_parquet_the_message_says_how_to_get_one() {
    let place = Place::new();
    let src = TempDir::new().expect("a folder");
    fs::write(src.path().join("gemm_perf.parquet"), "PAR1").expect("a file");
    let message = place.refused("aiconfigurator", src.path().to_str().expect("UTF-8"), &SAID);
    assert!(message.contains("--features parquet"), "{message}");
}
