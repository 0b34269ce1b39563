//! A set of one's own.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::workspace;

/// A copy of the folder of the set `h100` that is called `h10x`.
pub(crate) fn mine() -> (TempDir, String) {
    let temp = tempfile::tempdir().expect("a file");
    let dir = copy("h100", temp.path());
    let header = fs::read_to_string(dir.join("set.toml")).expect("a file");
    let renamed = header.replacen("name = \"h100\"", "name = \"h10x\"", 1);
    fs::write(dir.join("set.toml"), renamed).expect("a file");
    let path = dir.display().to_string();
    (temp, path)
}

fn copy(set: &str, into: &Path) -> PathBuf {
    let dir = into.join("measured");
    fs::create_dir(&dir).expect("a file");
    for entry in fs::read_dir(workspace().join("bench_data").join(set)).expect("a file") {
        let path = entry.expect("a file").path();
        fs::copy(&path, dir.join(path.file_name().expect("a file"))).expect("a file");
    }
    dir
}
