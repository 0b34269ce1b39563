//! `constants.toml` and `reference.toml`: the emitted source, and refused files.
use std::fs;
use std::path::Path;

use rooflut_codegen::generate_constants;

const TOY: &str = r#"[toy_share]
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

/// The source emitted for a file with this text, or the message of its refusal.
fn generate(text: &str) -> Result<String, String> {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("toy.toml");
    fs::write(&path, text).unwrap();
    generate_constants(&path).map_err(|error| error.to_string())
}

#[test]
fn a_section_becomes_a_documented_constant_in_si_units() {
    let source = generate(TOY).unwrap();
    for expected in [
        "/// half of it. Source: made up.",
        "pub(crate) const TOY_SHARE: f64 = 0.5;",
        "pub(crate) const TOY_BYTES: f64 = 2147483648.0;",
    ] {
        assert!(source.contains(expected), "no {expected} in {source}");
    }
}

#[test]
fn an_impossible_constant_is_refused_with_line_and_key() {
    for (from, to, expected) in [
        (
            "unit = \"share\"",
            "unit = \"%\"",
            "toy.toml:3: toy_share.unit: expected \"GiB\", \"share\", \"exponent\" or \"rows\", found \
             \"%\"; convert the value",
        ),
        (
            "value = 2.0",
            "value = nan",
            "toy.toml:7: toy_bytes.value: expected a positive number, found nan; correct it",
        ),
        (
            "value = 0.5",
            "value = 0",
            "toy.toml:2: toy_share.value: expected a positive number, found 0; correct it",
        ),
        (
            "meaning = \"memory\"",
            "meaning = \" \"",
            "toy.toml:9: toy_bytes.meaning: expected some text, found \" \"; fill it in",
        ),
    ] {
        assert_eq!(generate(&TOY.replace(from, to)).unwrap_err(), expected);
    }
    for (from, to) in [
        ("source = \"made up\"\n[", "["),
        ("[toy_share]", "[toy_share]\nsize = 1"),
        ("[toy_share]", "[Toy]"),
    ] {
        let error = generate(&TOY.replace(from, to)).unwrap_err();
        assert!(
            error.starts_with("toy.toml:1") || error.starts_with("toy.toml:2"),
            "{error}"
        );
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
