//! Imports point one way: `emit` uses `read`, and a module of `read` uses those before it.
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

use std::fs;
use std::path::Path;

/// The modules of `read`, from the bottom up.
const READ: [&str; 16] = [
    "error",
    "files",
    "toml_file",
    "csv_file",
    "measurement",
    "physics",
    "gpus",
    "excluded",
    "header",
    "table",
    "set",
    "single",
    "stored",
    "fingerprint",
    "constants",
    "engine",
];

/// The modules that a file names after `super::`, those of its imports one by one.
fn used(text: &str) -> Vec<&str> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let paths = code.flat_map(|line| line.split("super::").skip(1));
    let end = |c: char| !c.is_alphanumeric() && c != '_';
    paths
        .map(|path| path.split(end).next().unwrap_or_default())
        .collect()
}

#[test]
fn modules_of_the_reader_use_those_before_them() {
    let folder = Path::new("src/read");
    let mut edges = 0;
    for (place, module) in READ.iter().enumerate() {
        let text = fs::read_to_string(folder.join(format!("{module}.rs"))).unwrap();
        assert!(
            !text.contains("crate::"),
            "{module} names a path from the root"
        );
        for name in used(&text) {
            let below = READ[..place].contains(&name);
            assert!(below, "{module} uses {name:?}, which is not before it");
            edges += 1;
        }
    }
    assert!(edges > READ.len(), "{edges} imports found");
    let files = fs::read_dir(folder).unwrap().count();
    assert_eq!(
        files,
        READ.len() + 1,
        "a module without a place in the list"
    );
}

#[test]
fn every_import_is_seen() {
    let text = "//! super::table\nuse super::error::Error;\nfn f() -> super::set::TableSet {}\n\
                use super::{gpus, header};\n";
    assert_eq!(used(text), ["error", "set", ""]);
}
