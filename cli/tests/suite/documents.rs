//! The commands that the documents show run as shown, in their order, in a folder with what they name.
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

use crate::support::{without_progress, workspace};

/// Documents, and where their commands expect folders of the checkout.
const DOCUMENTS: [(&str, &[(&str, &str)]); 5] = [
    ("README.md", CHECKOUT),
    ("CONTRIBUTING.md", CHECKOUT),
    ("cli/README.md", &[]),
    ("docs/accuracy.md", CHECKOUT),
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

/// Commands that build, test or install, and those of the Python package, which has tests of its own.
const OTHERS: [&str; 5] = [
    "cargo test",
    "cargo install",
    ".ci/run",
    "pip install",
    "rooflut-collect",
];

#[test]
fn the_commands_of_the_documents_run() {
    let mut ran = 0;
    let mut failed = Vec::new();
    for (document, folders) in DOCUMENTS {
        let text = fs::read_to_string(workspace().join(document)).expect("a document");
        let place = tempfile::tempdir().expect("a folder");
        lay_out(place.path(), folders);
        for command in commands(&text) {
            if OTHERS.iter().any(|other| command.starts_with(other)) {
                continue;
            }
            let output = Command::new("sh")
                .args(["-c", &installed(&command)])
                .current_dir(place.path())
                .env("PATH", path(place.path()))
                .output()
                .expect("a shell");
            let stderr = without_progress(&String::from_utf8_lossy(&output.stderr));
            if !output.status.success() || !stderr.is_empty() {
                failed.push(format!(
                    "{document}: {command}: {}: {stderr}",
                    output.status
                ));
            }
            ran += 1;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(ran > 30, "{ran} commands");
}

/// A command with the installed program in place of the one to build.
fn installed(command: &str) -> String {
    let built = command.replace("cargo run --release --", "rooflut");
    built.replace("cargo run --release", "rooflut")
}

/// Commands with the program in front of the others that are installed.
fn path(place: &Path) -> String {
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

/// The commands after `$` in the console blocks of a document; one ends with a backslash where it goes on.
fn commands(document: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut in_console = false;
    for event in Parser::new(document) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                in_console = matches!(&*language, "console" | "sh" | "bash");
            }
            Event::End(TagEnd::CodeBlock) => in_console = false,
            Event::Text(text) if in_console => {
                for block in format!("\n{text}").split("\n$ ").skip(1) {
                    let shown = block.split_inclusive('\n');
                    let continues = |line: &&str| line.trim_end().ends_with('\\');
                    let more = shown.clone().take_while(continues).count();
                    commands.push(shown.take(more + 1).collect::<String>().trim().to_owned());
                }
            }
            _ => {}
        }
    }
    commands
}
