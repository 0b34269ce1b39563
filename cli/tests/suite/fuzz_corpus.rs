//! The fuzzing corpus, replayed without a fuzzer.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the fuzz targets' own crate is no part of the workspace"
)]

#[path = "../../../tools/fuzz/src/lib.rs"]
mod fuzz;

use std::fs;
use std::path::Path;

use fuzz::corpus;

#[test]
fn inputs_that_are_kept_are_read_or_refused_as_they_should() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/fuzz");
    let mut targets = 0;
    for file in fs::read_dir(folder.join("fuzz_targets")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let kept = fs::read_to_string(folder.join(format!("corpus/{name}.txt"))).expect(name);
        let inputs = corpus::unpack(&kept).expect(name);
        assert!(inputs.len() > 50, "{name}: {}", inputs.len());
        inputs.iter().for_each(|input| fuzz::target(name, input));
        // As the tool writes it: a changed file would not be told from a changed order.
        assert_eq!(corpus::pack(inputs), kept, "{name}");
        targets += 1;
    }
    assert_eq!(targets, 2);
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
