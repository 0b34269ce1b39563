//! Imports inside `src/` point one way: a layer uses itself and the layers before it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Layers from the bottom up. `math` and the macros `names` and `setters` come from `rooflut_roofline`; `generated` is
/// beside hardware and tables, which it consists of.
const LAYERS: [&str; 16] = [
    "as_text",
    "checked",
    "names",
    "setters",
    "units",
    "math",
    "constants",
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

/// Messages of errors name hardware and tables.
const EXCEPTIONS: [(&str, &str); 2] = [("error", "hardware"), ("error", "table")];

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
        for used in used_modules(&text, modules.len()) {
            if is_back_edge(own, &used) {
                wrong.push(format!("{}: {own} uses {used}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "back edges:\n{}", wrong.join("\n"));
    // The walk saw the whole crate: every layer except those of another crate has files.
    for layer in LAYERS
        .iter()
        .filter(|layer| !["math", "names", "setters"].contains(layer))
    {
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
        let text = fs::read_to_string(&file).unwrap_or_default();
        let text = text.to_lowercase();
        for word in ["vllm", "engine", "server", "in_step", "smoothing"] {
            assert!(!text.contains(word), "{}: {word}", file.display());
        }
    }
}

/// Crates whose modules import in one direction.
const WITHOUT_CIRCLES: [&str; 7] = [
    "hf-config",
    "import",
    "inspect",
    "report",
    "scenario",
    "traces",
    "validation",
];

#[test]
fn modules_of_the_crates_do_not_import_each_other_in_circles() {
    for name in WITHOUT_CIRCLES {
        let src = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("crates")
            .join(name)
            .join("src");
        let mut uses = BTreeMap::<String, BTreeSet<String>>::new();
        for file in rust_files(&src) {
            let modules = module_path(file.strip_prefix(&src).unwrap_or(&file));
            if let Some(own) = modules.first() {
                let text = fs::read_to_string(&file).unwrap_or_default();
                let used = used_modules(&text, modules.len());
                uses.entry(own.clone()).or_default().extend(used);
            }
        }
        assert!(uses.len() > 1, "no modules in {name}");
        assert_eq!(in_circles(uses), [""; 0], "{name}");
    }
}

/// Returns the modules that are in a circle or use a module in one.
fn in_circles(mut uses: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let is_left = |used: &String, own: &String| used != own && uses.contains_key(used);
        let done = uses
            .iter()
            .find(|(own, used)| !used.iter().any(|used| is_left(used, own)));
        match done.map(|(own, _)| own.clone()) {
            Some(own) => drop(uses.remove(&own)),
            None => return uses.into_keys().collect(),
        }
    }
}

#[test]
fn a_circle_of_two_modules_and_their_user_are_found() {
    let used = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let uses = [
        ("a", used(&["b"])),
        ("b", used(&["a", "b"])),
        ("c", used(&["a"])),
        ("d", used(&[])),
    ];
    let uses = uses.map(|(own, used)| (own.to_owned(), used));
    assert_eq!(in_circles(uses.into()), ["a", "b", "c"]);
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

/// Returns the module path of a file: `op/compat/mod.rs` is the module op::compat.
fn module_path(relative: &Path) -> Vec<String> {
    let path = relative.with_extension("");
    let names = path.iter().map(|name| name.to_string_lossy().into_owned());
    names
        .filter(|name| name != "mod" && name != "lib")
        .collect()
}

/// Returns the top-level modules that a file names by `crate::` or by `super::` up to the root. `depth` is
/// the number of names in the path of the file's module.
fn used_modules(text: &str, depth: usize) -> BTreeSet<String> {
    let tokens = tokens(text);
    let mut used = BTreeSet::new();
    for (place, token) in tokens.iter().enumerate() {
        let before = place
            .checked_sub(1)
            .map(|previous| tokens[previous].as_str());
        let starts_path = before != Some("::");
        if !starts_path {
            continue;
        }
        if token == "crate" && tokens.get(place + 1).is_some_and(|next| next == "::") {
            used.extend(first_names(&tokens[place + 2..]));
        }
        let supers = tokens[place..]
            .chunks(2)
            .take_while(|pair| *pair == ["super", "::"])
            .count();
        if supers >= depth {
            // In a module inside the file, a name that is not a layer is an item of the file.
            let names = first_names(&tokens[place + 2 * supers..]).into_iter();
            used.extend(names.filter(|name| LAYERS.contains(&name.as_str())));
        }
    }
    used
}

/// Returns the first name of a path, or the first names of a group `{a::b, c}`.
fn first_names(tokens: &[String]) -> Vec<String> {
    if tokens.first().is_none_or(|first| first != "{") {
        return tokens.first().cloned().into_iter().collect();
    }
    let mut names = Vec::new();
    let mut open = 0;
    for pair in tokens.windows(2) {
        let (token, next) = (pair[0].as_str(), &pair[1]);
        match token {
            "{" => open += 1,
            "}" => open -= 1,
            _ => {}
        }
        if open == 0 {
            break;
        }
        if open == 1 && ["{", ","].contains(&token) && next != "}" {
            names.push(next.clone());
        }
    }
    names
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

fn names(used: &BTreeSet<String>) -> Vec<&str> {
    used.iter().map(String::as_str).collect()
}

#[test]
fn every_way_to_name_a_module_is_seen() {
    let text = r#"
        //! [`crate::sim`] in a comment does not count.
        use crate::table::{Curve, Grid};
        use crate::{op::Gemm, model::{self, find}, units};
        fn f() -> crate::step::StepBatch<'static> { "crate::sim"; other::crate_::sim() }
        pub(crate) fn g() { super::super::hardware::h(); super::near(); }
    "#;
    let used = used_modules(text, 2);
    assert_eq!(
        names(&used),
        ["hardware", "model", "op", "step", "table", "units"]
    );
    // In a file one level deeper the same `super::super` stays inside its layer.
    assert!(!used_modules(text, 3).contains("hardware"));
    assert!(used_modules("use super::{op, step::Part};", 1).contains("step"));
}

#[test]
fn back_edges_are_found() {
    for (own, used) in [
        ("op", "model"),
        ("table", "op"),
        ("units", "error"),
        ("op", "engine"),
        ("step", "sim"),
    ] {
        assert!(is_back_edge(own, used), "{own} uses {used}");
        assert!(!is_back_edge(used, own), "{used} uses {own}");
    }
    assert!(!is_back_edge("error", "table") && is_back_edge("error", "op"));
    assert!(!is_back_edge("op", "op"));
    assert!(is_back_edge("op", "generated") && !is_back_edge("table", "generated"));
    assert!(is_back_edge("op", "a_new_module"));
}
