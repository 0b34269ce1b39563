//! Commands that documents show run as shown, in their order, in a folder with what they name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::{with_program, without_progress, workspace};
use crate::PROGRAM;

/// Commands that build, test or install, and those of the Python package, which has tests of its own.
const OTHERS: [&str; 5] = [
    "cargo test",
    "cargo install",
    ".ci/run",
    "pip install",
    "rooflut-collect",
];

/// Folders of the checkout that commands name.
pub(crate) const CHECKOUT: &[(&str, &str)] = &[
    ("bench_data", "bench_data"),
    ("crates", "crates"),
    ("examples", "examples"),
    ("laboratory", "laboratory"),
];

/// The commands that documents show instead of an installed one, which build it.
const FROM_SOURCE: [(&str, &str); 3] = [
    ("cargo run --release -p rooflut-lab --", "rooflut-lab"),
    ("cargo run --release --", "rooflut"),
    ("cargo run --release", "rooflut"),
];

/// Runs the commands of documents, but for those of the other program. Each document is given with the folders that its commands name and
/// what stands for these in the workspace. Returns the number of commands.
pub(crate) fn run(documents: &[(&str, &[(&str, &str)])]) -> usize {
    let mut ran = 0;
    let mut failed = Vec::new();
    for (document, folders) in documents {
        let text = fs::read_to_string(workspace().join(document)).expect("a document");
        let place = tempfile::tempdir().expect("a folder");
        lay_out(place.path(), folders);
        for command in commands(&text).iter().map(|command| installed(command)) {
            let is_left_out = OTHERS.iter().any(|other| command.starts_with(other));
            if is_left_out || names_other(&command) {
                continue;
            }
            let output = Command::new("sh")
                .args(["-c", &command])
                .current_dir(place.path())
                .env("PATH", with_program(&place.path().join(".bin")))
                .output()
                .expect("a shell");
            let stderr = without_progress(&String::from_utf8_lossy(&output.stderr));
            if !output.status.success() || !stderr.is_empty() {
                let status = output.status;
                failed.push(format!("{document}: {command}: {status}: {stderr}"));
            }
            ran += 1;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    ran
}

/// Returns a command with an installed program.
fn installed(command: &str) -> String {
    let replace = |command: String, (built, named): (&str, &str)| command.replace(built, named);
    FROM_SOURCE.into_iter().fold(command.to_owned(), replace)
}

/// Returns the name of the program.
fn name() -> &'static str {
    let name = Path::new(PROGRAM)
        .file_name()
        .and_then(|name| name.to_str());
    name.expect("UTF-8")
}

/// Returns whether a command runs the other of `rooflut` and `rooflut-lab`.
fn names_other(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.any(|word| word != name() && ["rooflut", "rooflut-lab"].contains(&word))
}

fn lay_out(place: &Path, folders: &[(&str, &str)]) {
    let root = fs::canonicalize(workspace()).expect("the workspace");
    let link = |target: &Path, name: &str| {
        let link = place.join(name);
        fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
        symlink(target, link).expect("a link");
    };
    link(Path::new(PROGRAM), &format!(".bin/{}", name()));
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
