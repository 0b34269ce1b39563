//! The pages of `tests/pages` show commands with what they print, so that messages are read side by side, and
//! `docs/recipes.md` shows users what to ask.
//!
//! A page is Markdown. Its commands run with `sh` in a folder of the page, after the lines of the `sh` blocks before
//! them; one that ends with `\` goes on in a line that begins with `> `. One that fails prints a line that begins with
//! `error: ` and exits with 2; another status stands below it.
//! `ROOFLUT_ACCEPT=1 cargo test -p rooflut-cli pages` writes the pages again.
#![cfg(target_os = "linux")] // whose errors have these texts
#![allow(clippy::expect_used, reason = "helpers of tests fail as tests do")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::{env, fs, thread};

use crate::support::{without_progress, workspace};

/// Links in the folder of a page.
const LINKS: [(&str, &str); 5] = [
    ("bench_data", "bench_data"),
    ("examples", "examples"),
    ("aiconfigurator", "cli/tests/fixtures/import/aiconfigurator"),
    ("blis", "cli/tests/fixtures/import/blis"),
    ("vidur", "cli/tests/fixtures/import/vidur"),
];

#[test]
fn pages_show_what_their_commands_print() {
    let pages = fs::read_dir(workspace().join("cli/tests/pages")).expect("a folder");
    thread::scope(|scope| {
        for page in pages {
            scope.spawn(move || check(&page.expect("a page").path()));
        }
        scope.spawn(|| check(&workspace().join("docs/recipes.md")));
    });
}

fn check(path: &Path) {
    let page = fs::read_to_string(path).expect("a page");
    let replayed = replay(&page);
    if env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1") {
        fs::write(path, replayed).expect("a page");
        return;
    }
    let mut lines = page.lines().zip(replayed.lines());
    let differs = lines.find(|(shown, printed)| shown != printed);
    assert!(page == replayed, "{}: {differs:#?}", path.display());
}

/// The page with what its commands print now.
fn replay(page: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(workspace()).expect("the workspace");
    for (name, target) in LINKS {
        symlink(root.join(target), folder.path().join(name)).expect("a link");
    }
    let (mut replayed, mut setup, mut block) = (String::new(), String::new(), "");
    let mut command = String::new();
    for line in page.lines() {
        let prompt = if command.is_empty() { "$ " } else { "> " };
        match (block, line.strip_prefix("```")) {
            (_, Some(language)) => block = language,
            ("sh", _) => setup += &format!("{line}\n"),
            ("console", _) if !line.starts_with(prompt) => continue,
            _ => (),
        }
        replayed += &format!("{line}\n");
        if let ("console", Some(part)) = (block, line.strip_prefix(prompt)) {
            command += &format!("{part}\n");
            if !part.ends_with('\\') {
                replayed += &printed(folder.path(), &format!("{setup}{command}"));
                command.clear();
            }
        }
    }
    assert_eq!(command, "", "a command has an end");
    replayed
}

/// Returns the output of a script, in the time and memory that a wrong input may take.
fn printed(folder: &Path, script: &str) -> String {
    let program = env!("CARGO_BIN_EXE_rooflut");
    let limits = "ulimit -v 262144; ulimit -t 5";
    let script = format!("rooflut() {{ timeout 60 {program} \"$@\"; }}\n{limits}\n{script}");
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder)
        .env("COLUMNS", "96")
        .output()
        .expect("sh starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let stderr = without_progress(&stderr);
    let refused = stderr.starts_with("error: ") && stderr.lines().count() == 1;
    let status = match output.status.code() {
        Some(0) if stderr.is_empty() => String::new(),
        Some(2) if refused => String::new(),
        code => format!("? {}\n", code.unwrap_or(-1)),
    };
    stdout + &stderr + &status
}
