//! Commands that documents show run as shown, in their order, in a folder with what they name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::{with_program, without_progress, workspace};
use crate::PROGRAM;

/// Commands that build, test or install, and those of the Python package, which has tests of its own.
const OTHERS: [&str; 8] =
    ["cargo build", "cargo test", "cargo install", ".ci/run", "pip install", "rooflut-collect", "check=", "$check"];

/// Folders of the checkout that commands name.
pub(crate) const CHECKOUT: &[(&str, &str)] =
    &[("bench_data", "bench_data"), ("crates", "crates"), ("examples", "examples"), ("laboratory", "laboratory")];

/// The commands that documents show instead of an installed one, which build it.
const FROM_SOURCE: [(&str, &str); 3] = [
    ("cargo run --release -p rooflut-lab --", "rooflut-lab"),
    ("cargo run --release --", "rooflut"),
    ("cargo run --release", "rooflut"),
];

/// Counts of commands, outputs and pictures in documents.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) commands: usize,
    /// Outputs that were compared.
    pub(crate) outputs: usize,
    /// Pictures that were compared.
    pub(crate) pictures: usize,
}

/// Runs the commands of documents, but for those of the other program, and compares what they print with a block of text
/// after them, and what they draw with the picture beside the document. Each document is given with the folders that its
/// commands name and what stands for these in the workspace. `ROOFLUT_ACCEPT=1` writes what is printed and drawn.
pub(crate) fn run(documents: &[(&str, &[(&str, &str)])]) -> Ran {
    let mut ran = Ran::default();
    let mut failed = Vec::new();
    let accepts = std::env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1");
    for (document, folders) in documents {
        let path = workspace().join(document);
        let text = fs::read_to_string(&path).expect("a document");
        let place = tempfile::tempdir().expect("a folder");
        lay_out(place.path(), folders);
        for (command, shown) in commands(&text) {
            let command = installed(&command);
            let is_left_out = OTHERS.iter().any(|other| command.starts_with(other));
            if is_left_out || names_other(&command) {
                continue;
            }
            let output = Command::new("sh")
                .args(["-c", &command])
                .current_dir(place.path())
                .env("PATH", with_program(&place.path().join(".bin")))
                .env_remove("COLUMNS")
                .output()
                .expect("a shell");
            let stderr = without_progress(&String::from_utf8_lossy(&output.stderr));
            if !output.status.success() || !stderr.is_empty() {
                let status = output.status;
                failed.push(format!("{document}: {command}: {status}: {stderr}"));
            }
            ran.commands += 1;
            let printed = String::from_utf8(output.stdout).expect("UTF-8");
            if let Some(shown) = shown {
                ran.outputs += 1;
                if shown != printed && accepts && output.status.success() {
                    let text = fs::read_to_string(&path).expect("a document");
                    fs::write(&path, text.replacen(&format!("\n{shown}"), &format!("\n{printed}"), 1))
                        .expect("a document");
                } else if shown != printed {
                    failed.push(format!("{document}: {command}: ROOFLUT_ACCEPT=1 writes what it prints\n{printed}"));
                }
            }
        }
        for picture in pictures(&text) {
            let name = Path::new(&picture).file_name().expect("a name");
            let committed = path.with_file_name(&picture);
            let Ok(drawn) = fs::read_to_string(place.path().join(name)) else {
                continue;
            };
            ran.pictures += 1;
            if accepts {
                fs::write(committed, drawn).expect("a picture");
            } else if fs::read_to_string(committed).ok() != Some(drawn) {
                failed.push(format!(
                    "{document}: {picture} differs from what its command draws; ROOFLUT_ACCEPT=1 writes it"
                ));
            }
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
    let name = Path::new(PROGRAM).file_name().and_then(|name| name.to_str());
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
