//! Files of engine stacks that codegen refuses; `messages.txt` has more of them.
use std::path::Path;

use crate::support::engines::{ENGINE, generate, generate_all};
use crate::support::no_value;
use rooflut_codegen::generate_engines;

/// The refusal of [`ENGINE`] with the first occurrence of a text replaced.
fn refusal(from: &str, to: &str) -> String {
    assert!(ENGINE.contains(from), "{from}");
    match generate(&ENGINE.replacen(from, to, 1)) {
        Ok(_) => panic!("accepted: {to}"),
        Err(message) => message,
    }
}

#[test]
fn a_stack_inherits_from_another_that_is_known() {
    let heir = |name: &str, of: &str| format!("name = \"{name}\"\ndescription = \"An heir\"\ninherits = \"{of}\"\n");
    let [one, two, three] = [("b", "c"), ("c", "d"), ("d", "c")].map(|(name, of)| heir(name, of));
    assert_eq!(
        generate_all(&[("toy-1.0", &ENGINE), ("b", &heir("b", "toy-1"))]).unwrap_err(),
        "engines/b.toml:3: inherits: expected the name of a stack (toy-1.0, b), found \"toy-1\"; correct it or \
         add the file"
    );
    assert_eq!(
        generate_all(&[("b", &heir("b", "b"))]).unwrap_err(),
        "engines/b.toml:3: inherits: expected a stack that does not inherit from b, found \"b\"; remove it from \
         one of the two files"
    );
    assert_eq!(
        generate_all(&[("b", &one), ("c", &two), ("d", &three)]).unwrap_err(),
        "engines/d.toml:3: inherits: expected a stack that does not inherit from d, found \"c\"; remove it from \
         one of the two files"
    );
}

#[test]
fn every_key_that_is_missing_is_named() {
    for line in ENGINE.lines().take(2) {
        let key = line.split(' ').next().unwrap();
        assert_eq!(refusal(&format!("{line}\n"), ""), no_value(&format!("engines/toy-1.0.toml:1: {key}")));
    }
    for line in ENGINE.lines().skip(3).take(18) {
        let key = line.split(' ').next().unwrap();
        assert_eq!(refusal(&format!("{line}\n"), ""), no_value(&format!("engines/toy-1.0.toml:3: rules.{key}")));
    }
    let (before, rest) = ENGINE.split_once("[rules]").unwrap();
    let (_, constants) = rest.split_once("[layer]").unwrap();
    assert_eq!(
        generate(&format!("{before}[layer]{constants}")).unwrap_err(),
        no_value("engines/toy-1.0.toml:1: rules")
    );
    let sections: Vec<&str> = ENGINE.split_inclusive("made up\"\n").collect();
    assert_eq!(sections.len(), 51);
    for section in &sections[..50] {
        let section = &section[section.find('[').unwrap()..];
        let name = section[1..].split(']').next().unwrap();
        assert_eq!(refusal(section, ""), no_value(&format!("engines/toy-1.0.toml:1: {name}")));
    }
    for key in ["value = 7.0", "unit = \"us\"", "meaning = \"routing\"", "source = \"made up\""] {
        let (before, section) = ENGINE.split_once("[moe_layer]").unwrap();
        let section = section.replacen(&format!("{key}\n"), "", 1);
        let field = key.split(' ').next().unwrap();
        assert_eq!(
            generate(&format!("{before}[moe_layer]{section}")).unwrap_err(),
            no_value(&format!("engines/toy-1.0.toml:37: moe_layer.{field}"))
        );
    }
}

#[test]
fn every_default_that_is_missing_is_named() {
    let (constants, defaults) = ENGINE.split_once("[defaults]").unwrap();
    let line = constants.lines().count() + 1;
    assert_eq!(generate(constants).unwrap_err(), no_value("engines/toy-1.0.toml:1: defaults"));
    for key in ["version", "gpu_memory_utilization", "graphs_hold_drafts"] {
        let given = defaults.lines().find(|line| line.starts_with(key)).unwrap();
        assert_eq!(
            refusal(&format!("{given}\n"), ""),
            no_value(&format!("engines/toy-1.0.toml:{line}: defaults.{key}"))
        );
    }
    let (before, sources) = ENGINE.split_once("[defaults.sources]").unwrap();
    assert!(!sources.is_empty());
    assert_eq!(generate(before).unwrap_err(), no_value(&format!("engines/toy-1.0.toml:{line}: defaults.sources")));
}

#[test]
fn impossible_defaults_are_refused() {
    for (from, to, expected) in [
        (
            "gpu_memory_utilization = 0.75",
            "gpu_memory_utilization = 1.5",
            "defaults.gpu_memory_utilization: expected a number above 0 and at most 1, found 1.5; correct it",
        ),
        (
            "graphs_hold_drafts = false",
            "graphs_hold_drafts = 0",
            "defaults.graphs_hold_drafts: expected true or false, found 0; correct it",
        ),
        (
            "max_num_seqs = 8",
            "max_num_seqs = 0",
            "defaults.others.max_num_seqs: expected a positive whole number, found 0; correct it",
        ),
        (
            "memory_gib = 70",
            "memory_gib = 4294967296",
            "defaults.gpus.memory_gib: expected a whole number from 1 to below 2^32, found 4294967296; correct it",
        ),
        (
            "memory_gib = 70",
            "memory = 70",
            "defaults.gpus: expected one of the keys memory_gib, except, max_num_seqs, max_num_batched_tokens, \
             cuda_graph_max_tokens, found \"memory\"; rename or remove it",
        ),
        (
            "\"0123456789abcdef",
            "\"",
            "defaults.sources.toy/args.py: expected a SHA-256 of 64 hexadecimal digits, found \
             \"0123456789abcdef0123456789abcdef0123456789abcdef\"; correct it",
        ),
    ] {
        let message = refusal(from, to);
        assert!(message.ends_with(expected), "{message}");
    }
}

#[test]
fn a_missing_file_is_refused() {
    let path = Path::new("no-such-folder").join("toy.toml");
    let message = generate_engines(&[&path]).unwrap_err().to_string();
    let start = format!("{}: ", path.display());
    assert!(message.starts_with(&start), "{message}");
    let end = "; check that the file is there and readable";
    assert!(message.ends_with(end), "{message}");
}
