//! Answers that `rooflut import` needs, and input that it refuses.

use std::fs;
use std::path::Path;

use crate::support::imports::{ORIGIN, Place, SAID, TREE, counts, fixture, has_finding};
use crate::support::{failure, workspace};
use tempfile::TempDir;

#[test]
fn what_the_files_do_not_say_is_asked_for_all_at_once() {
    let place = Place::new();
    let message = place.refused("blis", &fixture("blis"), "--name mine");
    let flags = "--gpu --gemm-dtype --kv-dtype --engine --timing --source --license --date";
    for flag in flags.split(' ') {
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
    let said = format!("--gpu l40s {ORIGIN} {TREE}");
    let message = place.refused("infersim", &fixture("blis"), &said);
    assert!(
        message.contains("--folder (") && message.contains("h100, h20"),
        "{message}"
    );
}

#[test]
fn fp8_gemms_are_not_read_as_bf16() {
    let place = Place::new();
    let tree = TREE.replace("fp8_block", "bf16");
    let message = place.refused("blis", &fixture("blis"), &format!("{SAID} {tree}"));
    assert!(message.contains("faster than the GPU can be"), "{message}");
    assert!(message.contains("(fitting: fp8, fp8_block)"), "{message}");
    assert!(!place.dest().exists());
}

#[test]
fn a_file_without_a_header_needs_one() {
    let place = Place::new();
    let src = place.folder.path().join("mine").join("src").join("gemm");
    fs::create_dir_all(&src).expect("a folder");
    fs::write(src.join("data.csv"), "8,4096,6144,9.5\n64,4096,6144,9.9\n").expect("a file");
    let other = Place::new();
    let src = src.to_str().expect("UTF-8");
    let said = format!("{SAID} {TREE}");
    let message = other.refused("infersim", src, &said);
    assert!(message.contains("--header gemm=COLUMNS ("), "{message}");
    let with = |columns| format!("{said} --header {columns}");
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
    let said = format!("{SAID} {TREE}");
    let message = place.refused("infersim", src, &said);
    assert!(
        message.contains("gemm/data.csv: expected the columns m,k,n,latency_us, found"),
        "{message}"
    );
    assert!(
        message.contains("missing: latency_us (is it latency(us)?)"),
        "{message}"
    );
    let skipped = format!("{said} --skip gemm");
    let message = place.refused("infersim", src, &skipped);
    assert!(
        message.contains("found none") && message.contains("left out by --skip"),
        "{message}"
    );
    let wrong = format!("{said} --where gflop=1");
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
    let message = place.refused("blis", &src, SAID);
    assert!(message.contains("multi-head latent attention"), "{message}");
}

#[test]
fn a_folder_that_is_not_empty_is_replaced_only_by_force_and_only_if_it_is_a_set() {
    let place = Place::new();
    let said = format!("{SAID} {TREE}");
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
    let forced = format!("{said} --force");
    place.import("blis", &src, &forced);
    assert_eq!(place.read("gemm.csv"), old);
    assert!(!place.dest().join("moe.csv").exists());
    let dest = place.dest();
    let message = place.refused("blis", dest.to_str().expect("UTF-8"), &forced);
    assert!(message.contains("than that of what is read"), "{message}");
    assert_eq!(place.read("gemm.csv"), old);
    fs::write(place.dest().join("notes.md"), "mine").expect("a file");
    let message = place.refused("blis", &src, &forced);
    assert!(message.contains("found other files"), "{message}");
    assert_eq!(place.read("notes.md"), "mine");
}

#[test]
fn an_import_that_fails_leaves_the_old_set_as_it_was() {
    let place = Place::new();
    let said = format!("{SAID} {TREE}");
    let src = fixture("blis");
    place.import("blis", &src, &said);
    let old = place.read("set.toml");
    let wrong = format!("{said} --force --name NotAName");
    let message = place.refused("blis", &src, &wrong);
    assert!(
        message.starts_with("mine/set.toml:1: name: expected lower-case letters"),
        "{message}"
    );
    assert_eq!(place.read("set.toml"), old);
}

#[test]
fn what_is_no_layout_or_gpu_comes_with_the_nearest() {
    assert!(failure("import infer a b").contains("infersim"));
    let message = failure("import vidur a b --gpu h10");
    assert!(message.contains("nearest: h100"), "{message}");
    assert!(failure("import vidur no-such-folder b").contains("cannot read no-such-folder"));
    assert!(!workspace().join("b").exists());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_a_reader_of_parquet_the_message_says_how_to_get_one() {
    let place = Place::new();
    let src = TempDir::new().expect("a folder");
    fs::write(src.path().join("gemm_perf.parquet"), "PAR1").expect("a file");
    let message = place.refused("aiconfigurator", src.path().to_str().expect("UTF-8"), SAID);
    assert!(message.contains("--features parquet"), "{message}");
}

#[test]
fn a_set_is_not_called_as_one_of_the_librarys() {
    let place = Place::new();
    let said = format!("{SAID} {TREE} --name h200");
    let message = place.refused("blis", &fixture("blis"), &said);
    assert!(
        message.starts_with("--name: expected another name"),
        "{message}"
    );
    // Nor is its folder's name taken for one.
    let dest = place.folder.path().join("h100");
    let dest = dest.to_str().expect("UTF-8");
    let src = fixture("blis");
    let message = failure(&format!("import blis {src} {dest} {SAID} {TREE}"));
    assert!(
        message.contains("that of DEST, h100, is the name of a built-in set"),
        "{message}"
    );
}
