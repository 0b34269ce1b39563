//! Comments, docs and messages avoid phrases that read as if translated.

use std::fs;
use std::path::{Path, PathBuf};

/// Phrases to avoid, and what to write instead. A phrase with `//` is avoided at the beginning of a comment.
const PHRASES: [(&str, &str); 20] = [
    ("// What ", "say what the item is or returns"),
    ("// Who ", "name the thing"),
    ("// That of ", "name the thing"),
    ("// Those ", "name the things"),
    ("// The same ", "say what changes: \"Sets ...\", \"Returns ... with ...\""),
    ("// Of ", "begin with a noun"),
    ("nobody", "\"no request\", \"no server\", \"unused\""),
    ("is told", "\"is given\", \"is reported\""),
    ("are told", "\"are listed\", \"are reported\""),
    ("let go ", "\"released\", \"freed\""),
    ("lets go", "\"releases\", \"frees\""),
    ("looks away", "\"ignores\""),
    ("of them that", "\"that\""),
    ("those of them", "name the things"),
    ("the same of", "name the thing"),
    ("at most so many", "\"at most this many\""),
    ("in the place of", "\"in place of\", \"instead of\""),
    ("as it was told", "\"as given\""),
    ("to look on", "leave it out"),
    ("by the look of", "\"apparently\""),
];

#[test]
fn comments_docs_and_messages_are_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        "src",
        "roofline",
        "codegen",
        "macros",
        "cli",
        "crates",
        "laboratory",
        "tools",
        "tests",
        "benches",
        "examples",
        "docs",
        "bench_data",
        "bindings",
        "integrations",
    ];
    let mut files: Vec<PathBuf> =
        ["README.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "build.rs"]
            .map(|file| root.join(file))
            .into();
    for folder in folders {
        collect(&root.join(folder), &mut files);
    }
    assert!(files.len() > 300, "the walk saw {} files", files.len());
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("english.rs")) {
        let text = fs::read_to_string(file).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            // `///`, `//!`, Python's `#` and `"""` are `//`; phrases are found whatever their case.
            let mut comment = line.replace("///", "//").replace("//!", "//");
            if file.extension().is_some_and(|extension| extension == "py") {
                comment = comment.replace("\"\"\"", "// ").replacen("# ", "// ", 1);
            }
            for (phrase, better) in PHRASES {
                let hit = if phrase.starts_with("//") {
                    comment.trim_start().starts_with(phrase)
                } else {
                    comment.to_lowercase().contains(phrase)
                };
                if hit {
                    let file = file.strip_prefix(root).unwrap().display();
                    found.push(format!("{file}:{number}: \"{}\": {better}", phrase.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "{} phrases:\n{}", found.len(), found.join("\n"));
}

/// Adds the sources and pages below `folder`, without those of builds.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| ["rs", "md", "toml", "py"].iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
}
