//! Imports inside `src/` point one way: a layer uses itself and the layers before it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Layers from the bottom up. `math` and the macros `names` and `setters` come from `rooflut_roofline`; `generated` is
/// beside hardware and tables, which it consists of.
const LAYERS: [&str; 18] = [
    "as_text",
    "checked",
    "names",
    "setters",
    "units",
    "math",
    "interval",
    "constants",
    "part",
    "error",
    "hardware",
    "table",
    "op",
    "model",
    "engine",
    "step",
    "sim",
    "deployment",
];

/// Messages of errors name hardware and tables; memory limits default to those of a generated engine stack.
const EXCEPTIONS: [(&str, &str); 3] = [("error", "hardware"), ("error", "table"), ("model", "generated")];

/// Written by the code generator, and the file that includes it.
const GENERATED: &str = "generated";

#[test]
fn imports_point_from_the_simulator_down_to_the_units() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for file in rust_files(&src) {
        let relative = file.strip_prefix(&src).unwrap_or(&file);
        let modules = module_path(relative);
        let Some(own) = modules.first().filter(|own| *own != GENERATED) else {
            continue; // lib.rs only declares and re-exports.
        };
        seen.insert(own.clone());
        let text = fs::read_to_string(&file).unwrap_or_default();
        for path in named_paths(&text, &modules) {
            // `use super::*` of tests inside a file.
            if path[0] != "*" && is_back_edge(own, &path[0]) {
                wrong.push(format!("{}: {own} uses {}", relative.display(), path[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "back edges:\n{}", wrong.join("\n"));
    // The walk saw the whole crate: every layer except those of another crate has files.
    for layer in LAYERS.iter().filter(|layer| !["math", "names", "setters"].contains(layer)) {
        assert!(seen.remove(*layer), "no file of {layer}");
    }
    assert!(seen.is_empty(), "modules without a layer: {seen:?}");
}

#[test]
fn kernels_do_not_depend_on_engines() {
    let op = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/op");
    let files = rust_files(&op);
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default().to_lowercase();
        for word in ["vllm", "engine", "server", "in_step", "smoothing"] {
            assert!(!text.contains(word), "{}: {word}", file.display());
        }
    }
}

/// Folders whose modules do not import each other in circles.
const WITHOUT_CIRCLES: [&str; 22] = [
    "src/model",
    "src/op",
    "src/sim",
    "src/step",
    "src/table",
    "codegen/src",
    "codegen/src/read",
    "codegen/src/emit",
    "crates/hf-config/src",
    "crates/html/src",
    "laboratory/import/src",
    "crates/inspect/src",
    "crates/observe/src",
    "crates/plan/src",
    "crates/report/src",
    "crates/scenario/src",
    "crates/sweep/src",
    "crates/traces/src",
    "laboratory/predecessors/src",
    "laboratory/validation/src",
    "cli/src",
    "crates/error/src",
];

#[test]
fn modules_do_not_import_each_other_in_circles() {
    for folder in WITHOUT_CIRCLES {
        let (krate, parent) = folder.split_once("src").unwrap();
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(krate).join("src");
        let parent: Vec<String> = parent.split('/').skip(1).map(str::to_owned).collect();
        assert_eq!(circles(&src, &parent), [""; 0], "{folder}");
    }
}

/// Returns the modules directly below the module `parent` that import each other in circles, or use such.
fn circles(src: &Path, parent: &[String]) -> Vec<String> {
    let files = rust_files(src).into_iter().map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        (module_path(file.strip_prefix(src).unwrap()), text)
    });
    let files: Vec<_> = files.collect();
    // The parent re-exports items of its modules.
    let mut exported = BTreeMap::new();
    for (_, text) in files.iter().filter(|(modules, _)| modules == parent) {
        for path in text.split("pub use ").skip(1) {
            let mut paths = Vec::new();
            follow(&tokens(path), Vec::new(), &mut paths);
            let items = paths.into_iter().filter_map(|path| Some((path.last()?.clone(), path[0].clone())));
            exported.extend(items);
        }
    }
    let mut uses = BTreeMap::<String, BTreeSet<String>>::new();
    for (modules, text) in &files {
        let Some([own, ..]) = modules.strip_prefix(parent) else {
            continue;
        };
        let used = named_paths(text, modules).into_iter().filter_map(|path| {
            let name = path.strip_prefix(parent)?.first()?;
            Some(exported.get(name).unwrap_or(name).clone())
        });
        uses.entry(own.clone()).or_default().extend(used);
    }
    assert!(uses.len() > 1, "no modules in {}", src.display());
    in_circles(uses)
}

/// Returns the modules that are in a circle, or between two circles.
fn in_circles(mut uses: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let used: BTreeSet<String> =
            (uses.iter()).flat_map(|(own, used)| used.iter().filter(move |used| *used != own)).cloned().collect();
        let is_left = |used: &String, own: &String| used != own && uses.contains_key(used);
        let ends = |(own, uses): &(&String, &BTreeSet<String>)| {
            !used.contains(*own) || !uses.iter().any(|used| is_left(used, own))
        };
        match uses.iter().find(ends).map(|(own, _)| own.clone()) {
            Some(own) => drop(uses.remove(&own)),
            None => return uses.into_keys().collect(),
        }
    }
}

#[test]
fn a_circle_of_two_modules_is_found() {
    let used = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let uses = [("a", used(&["b"])), ("b", used(&["a", "b"])), ("c", used(&["a"])), ("d", used(&[]))]
        .map(|(own, used)| (own.to_owned(), used));
    assert_eq!(in_circles(uses.into()), ["a", "b"]);
}

/// Returns whether `own` must not use `used`; only `lib.rs` may use a module that is not a layer.
fn is_back_edge(own: &str, used: &str) -> bool {
    let place = |name| LAYERS.iter().position(|layer| *layer == name);
    let generated = used == GENERATED && ["hardware", "engine", "table"].contains(&own);
    if generated || EXCEPTIONS.contains(&(own, used)) {
        return false;
    }
    match (place(own), place(used)) {
        (Some(own), Some(used)) => used > own,
        _ => true,
    }
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => rust_files(&path),
            path if path.extension().is_some_and(|ext| ext == "rs") => vec![path],
            _ => Vec::new(),
        })
        .collect()
}

/// Returns the module path of a file: `op/mod.rs` is the module op.
fn module_path(relative: &Path) -> Vec<String> {
    let path = relative.with_extension("");
    let names = path.iter().map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name != "mod" && name != "lib").collect()
}

/// Returns the paths that a file names by `crate::` or `super::`, from the root of its crate. `own` is the path of the
/// file's module.
fn named_paths(text: &str, own: &[String]) -> Vec<Vec<String>> {
    let tokens = tokens(text);
    let mut paths = Vec::new();
    for (place, start) in tokens.iter().enumerate() {
        let starts = place == 0 || tokens[place - 1] != "::";
        if !starts || tokens.get(place + 1).is_none_or(|next| next != "::") {
            continue;
        }
        let mut rest = &tokens[place..];
        let mut path = Vec::new();
        match start.as_str() {
            "crate" => rest = &rest[2..],
            "super" => {
                path = own.to_vec();
                while rest.starts_with(&["super".to_owned(), "::".to_owned()]) {
                    path.pop();
                    rest = &rest[2..];
                }
            }
            _ => continue,
        }
        follow(rest, path, &mut paths);
    }
    paths
}

/// Adds the path, or the paths of the group `{a::b, c}`, that begins with `tokens` below `path`; returns how many
/// tokens it has.
fn follow(tokens: &[String], mut path: Vec<String>, paths: &mut Vec<Vec<String>>) -> usize {
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        place += 1;
        if token == "{" {
            while tokens.get(place).is_some_and(|next| next != "}") {
                place += match tokens[place].as_str() {
                    "," => 1,
                    _ => follow(&tokens[place..], path.clone(), paths),
                };
            }
            return place + 1;
        }
        path.push(token.clone());
        if tokens.get(place).is_none_or(|next| next != "::") {
            break;
        }
        place += 1;
    }
    paths.push(path);
    place
}

/// Returns names, `::` and other single characters, without comments and string literals.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else if first == '"' {
            let bytes = rest.as_bytes();
            let mut end = 1;
            while end < bytes.len() && bytes[end] != b'"' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            (end + 1).min(rest.len())
        } else if first.is_alphanumeric() || first == '_' {
            let end = |c: char| !c.is_alphanumeric() && c != '_';
            let length = rest.find(end).unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

#[test]
fn every_way_to_name_a_module_is_seen() {
    let text = r#"
        //! [`crate::sim`] in a comment does not count.
        use crate::table::{Curve, Grid};
        use crate::{op::Gemm, model::{self, find as look_up}, units};
        pub(super) fn f() -> crate::step::StepBatch<'static> { "crate::sim"; other::crate_::sim() }
        pub(crate) fn g() { super::super::hardware::h(); super::near(); }
    "#;
    let seen = |own: &[&str]| -> BTreeSet<String> {
        let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
        let paths = named_paths(text, &own);
        paths.iter().map(|path| path.join("::")).collect()
    };
    let found = seen(&["op", "gemm"]);
    for path in [
        "hardware::h",
        "model::find",
        "model::self",
        "op::Gemm",
        "op::near",
        "step::StepBatch",
        "table::Curve",
        "table::Grid",
        "units",
    ] {
        assert!(found.contains(path), "{path} of {found:?}");
    }
    assert!(!found.iter().any(|path| path.starts_with("sim")), "{found:?}");
    // In a file one level deeper the same `super::super` stays inside its layer.
    assert!(seen(&["op", "gemm", "blis"]).contains("op::hardware::h"));
}

#[test]
fn back_edges_are_found() {
    for (own, used) in [("op", "model"), ("table", "op"), ("units", "error"), ("op", "engine"), ("step", "sim")] {
        assert!(is_back_edge(own, used), "{own} uses {used}");
        assert!(!is_back_edge(used, own), "{used} uses {own}");
    }
    assert!(!is_back_edge("error", "table") && is_back_edge("error", "op"));
    assert!(!is_back_edge("op", "op"));
    assert!(is_back_edge("op", "generated") && !is_back_edge("table", "generated"));
    assert!(is_back_edge("op", "a_new_module"));
}
