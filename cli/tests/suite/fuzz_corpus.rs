//! The fuzzing corpora of readers, tried without a fuzzer.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the fuzz targets' own crate is no part of the workspace"
)]

#[path = "../../../tools/fuzz/src/corpus.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod corpus;
#[path = "../../../tools/fuzz/src/readers/mod.rs"]
mod readers;

use std::fs;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/fuzz");

#[test]
fn inputs_that_are_kept_are_read_or_refused_as_they_should() {
    for (name, read) in readers::ALL {
        corpus::kept(FOLDER, name).iter().for_each(|input| read(input));
    }
}

#[test]
fn each_fuzz_target_has_kept_inputs_that_a_test_tries() {
    let files = fs::read_dir(format!("{FOLDER}/fuzz_targets")).unwrap();
    let mut targets: Vec<String> =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    targets.sort();
    // The tests of the C interface and of the simulator try theirs.
    let mut tried: Vec<&str> = readers::ALL.iter().map(|(name, _)| *name).chain(["c", "server"]).collect();
    tried.sort();
    assert_eq!(targets, tried);
}

#[test]
fn escapes_come_back_as_the_bytes_that_they_stand_for() {
    let all: Vec<u8> = (0..=255).collect();
    let inputs = vec![Vec::new(), all, b"a\\n\"b".to_vec()];
    let packed = corpus::pack(inputs.clone());
    assert!(packed.is_ascii() && packed.lines().count() == 3, "{packed}");
    let mut sorted = inputs;
    sorted.sort_unstable();
    assert_eq!(corpus::unpack(&packed), Ok(sorted));
    assert_eq!(corpus::unpack("ok\n\\x4"), Err(2));
    assert_eq!(corpus::unpack("\\"), Err(1));
}
