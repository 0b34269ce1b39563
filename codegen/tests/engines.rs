//! Files of engine stacks: what codegen accepts, and what it refuses with which message.
#![allow(clippy::unwrap_used, clippy::panic)] // A helper that fails is a test that fails.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use rooflut_codegen::generate_engines;
use support::bench_data;

/// Line 1 is the name, each constant has five lines from line 5 on.
const ENGINE: &str = r#"name = "toy-1.0"
description = "An engine that does not exist"
scheduling = "synchronous"
cuda_graph_max_tokens = 64
[layer]
value = 3.0
unit = "us"
meaning = "launches"
source = "made up"
[small_kernel_bandwidth]
value = 0.25
unit = "share"
meaning = "small kernels"
source = "made up"
[logit]
value = 0.5
unit = "ns"
meaning = "sampling"
source = "made up"
[moe_layer]
value = 7.0
unit = "us"
meaning = "routing"
source = "made up"
[expert_bandwidth]
value = 0.75
unit = "share"
meaning = "experts"
source = "made up"
[host]
value = 0.0
unit = "us"
meaning = "waiting"
source = "made up"
[api_server]
value = 9.0
unit = "ms"
meaning = "HTTP"
source = "made up"
"#;

/// What a file with this text becomes, or the message of its refusal.
fn generate(text: &str) -> Result<String, String> {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("toy.toml");
    fs::write(&path, text).unwrap();
    generate_engines(&[&path]).map_err(|error| {
        let message = error.to_string();
        assert!(!message.contains('\n'), "more than a line: {message}");
        message
    })
}

/// The refusal of [`ENGINE`] with one text replaced, where it stands first.
fn refusal(from: &str, to: &str) -> String {
    assert!(ENGINE.contains(from), "{from}");
    match generate(&ENGINE.replacen(from, to, 1)) {
        Ok(_) => panic!("accepted: {to}"),
        Err(message) => message,
    }
}

/// The same source on one line.
fn on_one_line(source: &str) -> String {
    source.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_becomes_a_static_in_si_units() {
    let source = on_one_line(&generate(ENGINE).unwrap());
    for expected in [
        "#[doc = \" An engine that does not exist.\"]",
        "pub static TOY_1_0: EngineStack",
        "name: \"toy-1.0\"",
        "description: \"An engine that does not exist\"",
        "scheduling: Scheduling::Synchronous",
        "cuda_graph_max_tokens: 64u32",
        "expert_bandwidth: 0.75f64",
        "small_kernel_bandwidth: 0.25f64",
        "meaning: \"routing\", source: \"made up\"",
        "pub static ALL: [&EngineStack; 1usize] = [&TOY_1_0]",
    ] {
        let documented = expected.replace("#[doc = \"", "///").replace("\"]", "");
        let found = source.contains(expected) || source.contains(&documented);
        assert!(found, "no {expected} in {source}");
    }
    for (name, seconds) in [
        ("layer", 3e-6),
        ("logit", 0.5e-9),
        ("moe_layer", 7e-6),
        ("host", 0.0),
        ("api_server", 9e-3),
    ] {
        let rest = source.split(&format!(" {name}: Seconds(")).nth(1).unwrap();
        let number: &str = rest.split(')').next().unwrap();
        let number: f64 = number.trim_end_matches("f64").parse().unwrap();
        assert!(
            (number - seconds).abs() <= 1e-15 * seconds,
            "{name}: {number}"
        );
    }
}

#[test]
fn spellings_of_toml_do_not_matter() {
    let expected = generate(ENGINE).unwrap();
    for other in [
        ENGINE.replace('\n', "\r\n"),
        format!("\u{feff}# A comment\n{ENGINE}"),
        ENGINE.replace("value = 3.0", "value = 3"),
        ENGINE.replace("value = 0.0", "value = 0"),
    ] {
        assert_eq!(generate(&other).unwrap(), expected, "{other}");
    }
}

#[test]
fn values_at_their_limits_are_accepted() {
    for (from, to) in [
        ("value = 3.0", "value = 0.0"),
        ("value = 3.0", "value = 1e300"),
        ("value = 0.25", "value = 1.0"),
        ("value = 0.25", "value = 1e-300"),
        ("max_tokens = 64", "max_tokens = 0"),
        ("max_tokens = 64", "max_tokens = 4294967295"),
    ] {
        assert!(generate(&ENGINE.replacen(from, to, 1)).is_ok(), "{to}");
    }
}

#[test]
fn both_ways_of_scheduling_are_accepted_and_no_other() {
    let ahead = ENGINE.replace("synchronous", "one-step-ahead");
    let source = generate(&ahead).unwrap();
    assert!(source.contains("Scheduling::OneStepAhead"), "{source}");
    assert_eq!(
        refusal("\"synchronous\"", "\"async\""),
        "engines/toy.toml:3: scheduling: expected \"one-step-ahead\" or \"synchronous\", found \
         \"async\"; correct it"
    );
}

#[test]
fn a_key_too_many_is_named() {
    let example = "bench_data/engines/vllm-0.15.1.toml shows how it should be";
    assert_eq!(
        refusal("[layer]", "layers = 3\n[layer]"),
        format!(
            "engines/toy.toml:5: unknown field `layers`, expected one of `name`, `description`, \
             `scheduling`, `cuda_graph_max_tokens`, `layer`, `small_kernel_bandwidth`, `logit`, \
             `moe_layer`, `expert_bandwidth`, `host`, `api_server`; {example}"
        )
    );
    assert_eq!(
        refusal("meaning = \"routing\"", "means = \"routing\""),
        format!(
            "engines/toy.toml:23: unknown field `means`, expected one of `value`, `unit`, `meaning`, \
             `source`; {example}"
        )
    );
}

#[test]
fn every_key_that_is_missing_is_named() {
    let example = "bench_data/engines/vllm-0.15.1.toml shows how it should be";
    for line in ENGINE.lines().take(4) {
        let key = line.split(' ').next().unwrap();
        assert_eq!(
            refusal(&format!("{line}\n"), ""),
            format!("engines/toy.toml:1: missing field `{key}`; {example}")
        );
    }
    let sections: Vec<&str> = ENGINE.split_inclusive("made up\"\n").collect();
    assert_eq!(sections.len(), 7);
    for section in sections {
        let section = &section[section.find('[').unwrap()..];
        let name = section[1..].split(']').next().unwrap();
        assert_eq!(
            refusal(section, ""),
            format!("engines/toy.toml:1: missing field `{name}`; {example}")
        );
    }
    for key in [
        "value = 7.0",
        "unit = \"us\"",
        "meaning = \"routing\"",
        "source = \"made up\"",
    ] {
        let (before, section) = ENGINE.split_once("[moe_layer]").unwrap();
        let section = section.replacen(&format!("{key}\n"), "", 1);
        let field = key.split(' ').next().unwrap();
        assert_eq!(
            generate(&format!("{before}[moe_layer]{section}")).unwrap_err(),
            format!("engines/toy.toml:20: missing field `{field}`; {example}")
        );
    }
}

#[test]
fn a_unit_that_is_not_the_constants_is_refused() {
    for (name, line, unit, other) in [
        ("layer", 7, "us", "ms"),
        ("small_kernel_bandwidth", 12, "share", "%"),
        ("logit", 17, "ns", "us"),
        ("moe_layer", 22, "us", "\u{b5}s"),
        ("expert_bandwidth", 27, "share", ""),
        ("host", 32, "us", "US"),
        ("api_server", 37, "ms", "s"),
    ] {
        let (before, section) = ENGINE.split_once(&format!("[{name}]")).unwrap();
        let from = format!("unit = \"{unit}\"");
        let section = section.replacen(&from, &format!("unit = \"{other}\""), 1);
        assert_eq!(
            generate(&format!("{before}[{name}]{section}")).unwrap_err(),
            format!(
                "engines/toy.toml:{line}: {name}.unit: expected \"{unit}\", found \"{other}\"; \
                 convert the value"
            )
        );
    }
}

#[test]
fn a_value_that_cannot_be_is_refused() {
    for (from, line, name, expected) in [
        ("value = 3.0", 6, "layer", "a number of at least 0"),
        ("value = 0.5", 16, "logit", "a number of at least 0"),
        ("value = 7.0", 21, "moe_layer", "a number of at least 0"),
        ("value = 0.0", 31, "host", "a number of at least 0"),
        ("value = 9.0", 36, "api_server", "a number of at least 0"),
        (
            "value = 0.25",
            11,
            "small_kernel_bandwidth",
            "a number above 0 and at most 1",
        ),
        (
            "value = 0.75",
            26,
            "expert_bandwidth",
            "a number above 0 and at most 1",
        ),
    ] {
        let mut wrong = vec![
            ("-1", "-1"),
            ("-1e-9", "-0.000000001"),
            ("nan", "NaN"),
            ("inf", "inf"),
        ];
        if expected.contains("above") {
            wrong.extend([("0", "0"), ("1.01", "1.01"), ("93", "93")]);
        }
        for (value, shown) in wrong {
            assert_eq!(
                refusal(from, &format!("value = {value}")),
                format!(
                    "engines/toy.toml:{line}: {name}.value: expected {expected}, found {shown}; \
                     correct it"
                )
            );
        }
    }
    let example = "bench_data/engines/vllm-0.15.1.toml shows how it should be";
    assert_eq!(
        refusal("value = 3.0", "value = \"3.0\""),
        format!("engines/toy.toml:6: invalid type: string \"3.0\", expected f64; {example}")
    );
    assert_eq!(
        refusal("max_tokens = 64", "max_tokens = -1"),
        format!("engines/toy.toml:4: invalid value: integer `-1`, expected u32; {example}")
    );
}

#[test]
fn names_are_simple() {
    for name in [
        "", "Toy-1.0", "toy_1", "1.0-toy", ".toy", "toy 1.0", "all", "t\u{f6}y",
    ] {
        assert_eq!(
            refusal("\"toy-1.0\"", &format!("\"{name}\"")),
            format!(
                "engines/toy.toml:1: name: expected lower-case letters, digits, hyphens and dots, \
                 starting with a letter (and not \"all\"), found \"{name}\"; rename it"
            )
        );
    }
}

#[test]
fn toml_that_does_not_parse_is_refused_on_one_line() {
    let message = refusal("unit = \"us\"", "unit = us");
    assert!(message.starts_with("engines/toy.toml:7: "), "{message}");
    let message = refusal("value = 0.25\n", "value = 0.25\nvalue = 0.5\n");
    assert!(
        message.starts_with("engines/toy.toml:12: duplicate key"),
        "{message}"
    );
}

#[test]
fn a_file_that_is_not_there_is_refused() {
    let path = Path::new("no-such-folder").join("toy.toml");
    let message = generate_engines(&[&path]).unwrap_err().to_string();
    let start = format!("{}: ", path.display());
    assert!(message.starts_with(&start), "{message}");
    let end = "; check that the file is there and readable";
    assert!(message.ends_with(end), "{message}");
}

/// Files of the built-in engines, in order of their names.
fn built_in() -> Vec<PathBuf> {
    let dir = fs::read_dir(bench_data().join("engines")).unwrap();
    let mut paths: Vec<PathBuf> = dir.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn the_built_in_engines_become_documented_rust() {
    let paths = built_in();
    assert!(paths.len() >= 2);
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let source = generate_engines(&paths).unwrap();
    assert_eq!(generate_engines(&paths).unwrap(), source);
    let file = syn::parse_file(&source).unwrap();
    let [syn::Item::Mod(module)] = file.items.as_slice() else {
        panic!("more than a module");
    };
    assert_eq!(module.ident, "stacks");
    let (_, items) = module.content.as_ref().unwrap();
    let mut names = Vec::new();
    for item in items {
        if let syn::Item::Static(item) = item {
            names.push(item.ident.to_string());
            let documented = |doc: &syn::Attribute| doc.path().is_ident("doc");
            assert!(item.attrs.iter().any(documented), "{}", item.ident);
        }
    }
    let mut expected: Vec<String> = paths
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy())
        .map(|stem| stem.to_uppercase().replace(['-', '.'], "_"))
        .collect();
    expected.push("ALL".to_owned());
    assert_eq!(names, expected);
}

#[test]
fn engines_come_in_the_order_of_their_paths() {
    let mut paths = built_in();
    let last = |paths: &[PathBuf]| {
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let source = on_one_line(&generate_engines(&paths).unwrap());
        source.split("= [&").last().unwrap().to_owned()
    };
    let sorted = last(&paths);
    paths.reverse();
    assert_ne!(last(&paths), sorted);
}
