//! The commands that the documents show run as shown, in their order, in a folder with what they name; a block of text
//! after a command is its output, and a picture that a command draws is the one beside the document.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::links::guide;
use crate::support::{without_progress, workspace};

/// Documents beside the guide, `docs/`, and where their commands expect folders of the checkout.
const DOCUMENTS: [(&str, &[(&str, &str)]); 4] = [
    ("README.md", CHECKOUT),
    ("CONTRIBUTING.md", CHECKOUT),
    ("cli/README.md", &[]),
    (
        "docs/import.md",
        // Made-up files in place of those of other projects.
        &[
            ("bench_data", "cli/tests/fixtures/import/blis/bench_data"),
            (
                "systems/data/h100_sxm/vllm/0.24.0",
                "cli/tests/fixtures/import/aiconfigurator",
            ),
            (
                "data/profiling",
                "cli/tests/fixtures/import/vidur/profiling",
            ),
        ],
    ),
];

const CHECKOUT: &[(&str, &str)] = &[
    ("bench_data", "bench_data"),
    ("crates", "crates"),
    ("examples", "examples"),
];

/// Commands that build, test or install, and those of packages that have tests of their own.
const OTHERS: [&str; 8] = [
    "cargo build",
    "cargo test",
    "cargo install",
    ".ci/run",
    "pip install",
    "rooflut-collect",
    "check=",
    "$check",
];

/// The documents with their folders: all pages of the guide but the recipes, whose output is compared with the pages.
fn documents() -> Vec<(String, &'static [(&'static str, &'static str)])> {
    let mut documents: Vec<_> = DOCUMENTS
        .map(|(document, folders)| (document.to_owned(), folders))
        .into();
    for page in guide() {
        let page = format!("docs/{page}");
        let known = documents.iter().any(|(document, _)| *document == page);
        if !known && page != "docs/recipes.md" {
            documents.push((page, CHECKOUT));
        }
    }
    documents
}

#[test]
fn the_commands_of_the_documents_run_and_print_what_is_shown() {
    let mut counts = [0; 3];
    let mut failed = Vec::new();
    for (document, folders) in documents() {
        let path = workspace().join(&document);
        let text = fs::read_to_string(&path).expect("a document");
        let place = tempfile::tempdir().expect("a folder");
        lay_out(place.path(), folders);
        for (command, shown) in commands(&text) {
            if OTHERS.iter().any(|other| command.starts_with(other)) {
                continue;
            }
            let output = Command::new("sh")
                .args(["-c", &installed(&command)])
                .current_dir(place.path())
                .env("PATH", search_path(place.path()))
                .env_remove("COLUMNS")
                .output()
                .expect("a shell");
            let stderr = without_progress(&String::from_utf8_lossy(&output.stderr));
            if !output.status.success() || !stderr.is_empty() {
                failed.push(format!(
                    "{document}: {command}: {}: {stderr}",
                    output.status
                ));
            }
            counts[0] += 1;
            let printed = String::from_utf8(output.stdout).expect("UTF-8");
            if let Some(shown) = shown {
                counts[1] += 1;
                if shown != printed {
                    failed.push(format!("{document}: {command}: prints\n{printed}"));
                }
            }
        }
        for picture in pictures(&text) {
            let drawn = place
                .path()
                .join(Path::new(&picture).file_name().expect("a name"));
            let committed = path.with_file_name(&picture);
            let Ok(drawn) = fs::read_to_string(drawn) else {
                continue;
            };
            counts[2] += 1;
            if std::env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1") {
                fs::write(committed, drawn).expect("a picture");
            } else if fs::read_to_string(committed).ok() != Some(drawn) {
                failed.push(format!(
                    "{document}: {picture} differs from what its command draws; ROOFLUT_ACCEPT=1 writes it"
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let [ran, compared, drawn] = counts;
    assert!(ran > 30 && compared > 1 && drawn > 0, "{counts:?}");
}

/// A command with the installed program in place of the one to build.
fn installed(command: &str) -> String {
    let built = command.replace("cargo run --release --", "rooflut");
    built.replace("cargo run --release", "rooflut")
}

/// The search path, with the program in front of what is installed.
fn search_path(place: &Path) -> String {
    let installed = std::env::var("PATH").unwrap_or_default();
    format!("{}:{installed}", place.join(".bin").display())
}

fn lay_out(place: &Path, folders: &[(&str, &str)]) {
    let root = fs::canonicalize(workspace()).expect("the workspace");
    let program = Path::new(env!("CARGO_BIN_EXE_rooflut"));
    let link = |target: &Path, name: &str| {
        let link = place.join(name);
        fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
        symlink(target, link).expect("a link");
    };
    link(program, ".bin/rooflut");
    for (name, target) in folders {
        link(&root.join(target), name);
    }
}

/// The commands after `$` in the console blocks of a document; one ends with a backslash where it goes on. A block of
/// text that follows a console block is the output of its last command.
fn commands(document: &str) -> Vec<(String, Option<String>)> {
    let mut commands: Vec<(String, Option<String>)> = Vec::new();
    let mut language = String::new();
    // Whether the last block was a console, with nothing after it yet.
    let mut after_console = false;
    for event in Parser::new(document) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(found))) => {
                language = found.to_string();
            }
            Event::End(TagEnd::CodeBlock) => {
                after_console = is_console(&language);
                language.clear();
            }
            Event::Text(text) if is_console(&language) => {
                for block in format!("\n{text}").split("\n$ ").skip(1) {
                    let shown = block.split_inclusive('\n');
                    let continues = |line: &&str| line.trim_end().ends_with('\\');
                    let more = shown.clone().take_while(continues).count();
                    let command: String = shown.take(more + 1).collect();
                    commands.push((command.trim().to_owned(), None));
                }
            }
            Event::Text(text) if language == "text" && after_console => {
                let (_, shown) = commands.last_mut().expect("a command");
                shown.get_or_insert_default().push_str(&text);
            }
            _ => after_console &= !language.is_empty(),
        }
    }
    commands
}

fn is_console(language: &str) -> bool {
    matches!(language, "console" | "sh" | "bash")
}

/// The pictures of a document.
fn pictures(document: &str) -> Vec<String> {
    let events = Parser::new(document);
    let pictures = events.filter_map(|event| match event {
        Event::Start(Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    });
    pictures.collect()
}
