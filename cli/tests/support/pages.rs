//! Pages show commands with what they print, so that messages are read side by side.
//!
//! A page is Markdown. Its commands run with `sh` in a folder of the page, after the lines of the `sh` blocks before
//! them; one that ends with `\` goes on in a line that begins with `> `. One that fails prints a line that begins with
//! `error: ` and exits with 2; another status stands below it.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::{env, fs, thread};

use super::{with_program, without_progress, workspace};
use crate::PROGRAM;

/// Checks the pages of a folder of the workspace, and other pages. `links` are in the folder of each page: names, and
/// what they stand for in the workspace.
pub(crate) fn check_all(folder: &str, others: &[&str], links: &[(&str, &str)]) {
    let pages = fs::read_dir(workspace().join(folder)).expect("a folder").map(|page| page.expect("a page").path());
    let others = others.iter().map(|page| workspace().join(page));
    thread::scope(|scope| {
        for page in pages.chain(others) {
            scope.spawn(move || check(&page, links));
        }
    });
}

fn check(path: &Path, links: &[(&str, &str)]) {
    let page = fs::read_to_string(path).expect("a page");
    let replayed = replay(&page, links);
    if env::var_os("ROOFLUT_ACCEPT").is_some_and(|value| value == "1") {
        fs::write(path, replayed).expect("a page");
        return;
    }
    let mut lines = page.lines().zip(replayed.lines());
    let differs = lines.find(|(shown, printed)| shown != printed);
    assert!(page == replayed, "{}: {differs:#?}", path.display());
}

/// The page with what its commands print now.
fn replay(page: &str, links: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let root = fs::canonicalize(workspace()).expect("the workspace");
    for (name, target) in links {
        symlink(root.join(target), folder.path().join(name)).expect("a link");
    }
    let programs = tempfile::tempdir().expect("a folder");
    let named = Path::new(PROGRAM).file_name().expect("a name");
    let named = programs.path().join(named);
    fs::write(&named, format!("#!/bin/sh\nexec timeout 60 {PROGRAM} \"$@\"\n")).expect("a script");
    fs::set_permissions(&named, Permissions::from_mode(0o755)).expect("a script");
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
                replayed += &printed(folder.path(), programs.path(), &format!("{setup}{command}"));
                command.clear();
            }
        }
    }
    assert_eq!(command, "", "a command has an end");
    replayed
}

/// Returns the output of a script, within the memory that a wrong input may take, and 20 s of processor time: the longest
/// command of a page has taken 2.7 to 4.4 s.
fn printed(folder: &Path, programs: &Path, script: &str) -> String {
    let limits = "ulimit -v 262144; ulimit -t 20";
    let output = Command::new("sh")
        .args(["-c", &format!("{limits}\n{script}")])
        .env("PATH", with_program(programs))
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
