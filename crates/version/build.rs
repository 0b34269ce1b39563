//! Names the commit that is built.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(commit) = packaged().or_else(checked_out) {
        let commit = commit.get(..12).unwrap_or(&commit);
        println!("cargo::rustc-env=ROOFLUT_COMMIT={commit}");
    }
}

/// The commit that `cargo package` wrote into the package.
fn packaged() -> Option<String> {
    let info = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = info.split_once("\"sha1\": \"")?;
    let (commit, _) = rest.split_once('"')?;
    Some(commit.to_owned())
}

/// The commit of the repository that this crate is part of. Its log changes with each commit and checkout, and only
/// then is this crate built again.
fn checked_out() -> Option<String> {
    let folder = env::var_os("CARGO_MANIFEST_DIR")?;
    let workspace = Path::new(&folder).ancestors().nth(2)?;
    // Within another repository a vendored copy has no commit of its own.
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if fs::canonicalize(top).ok()? != fs::canonicalize(workspace).ok()? {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
