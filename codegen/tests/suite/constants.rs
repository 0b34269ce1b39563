//! `constants.toml` and `reference.toml`: the emitted source.
use std::fs;
use std::path::Path;

use rooflut_codegen::generate_constants;

pub(crate) const TOY: &str = r#"[toy_share]
value = 0.5
unit = "share"
meaning = "half of it"
source = "made up"
[toy_bytes]
value = 2.0
unit = "GiB"
meaning = "memory"
source = "made up"
"#;

#[test]
fn a_section_becomes_a_documented_constant_in_si_units() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("toy.toml");
    fs::write(&path, TOY).unwrap();
    let source = generate_constants(&path).unwrap();
    for expected in [
        "/// half of it. Source: made up.",
        "pub(crate) const TOY_SHARE: f64 = 0.5;",
        "pub(crate) const TOY_BYTES: f64 = 2147483648.0;",
    ] {
        assert!(source.contains(expected), "no {expected} in {source}");
    }
}

/// A published crate cannot read files outside of it, so the source emitted for `reference.toml` is committed.
#[test]
fn the_tuned_constants_of_the_roofline_are_those_of_the_data() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let generated = generate_constants(&root.join("bench_data/reference.toml")).unwrap();
    let kept = root.join("roofline/src/tuned.rs");
    if std::env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1") {
        fs::write(&kept, &generated).unwrap();
    }
    assert_eq!(fs::read_to_string(kept).unwrap(), generated);
}
