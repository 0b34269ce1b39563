//! A user's crate with `rooflut::tables!`, built by cargo.
//!
//! trybuild would build it in another folder, from which the paths of the measurements do not resolve.
#![allow(dead_code, reason = "each test crate uses a part")]
#![allow(clippy::unwrap_used)] // A helper that fails is a test that fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MANIFEST: &str = r#"
[package]
name = "user"
edition = "2024"

[dependencies]
rooflut = { path = "REPOSITORY", default-features = false, features = ["macros"] }

[workspace]
"#;

pub(crate) struct UserCrate {
    dir: PathBuf,
}

impl UserCrate {
    /// A crate in a folder of that name.
    pub(crate) fn new(name: &str) -> UserCrate {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&dir);
        let user = UserCrate { dir };
        user.write("Cargo.lock", &fixture("Cargo.lock"));
        let path = repository().display().to_string().replace('\\', "/");
        user.write("Cargo.toml", &MANIFEST.replace("REPOSITORY", &path));
        user
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.dir.join(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    fn cargo(&self) -> Output {
        Command::new(env!("CARGO"))
            .args(["run", "--offline", "--quiet", "--color", "never"])
            .current_dir(&self.dir)
            // The dependencies are compiled once and kept.
            .env("CARGO_TARGET_DIR", self.dir.with_file_name("target"))
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .output()
            .unwrap()
    }

    /// Runs the program and returns its output.
    pub(crate) fn run(&self) -> String {
        let output = self.cargo();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The compiler's errors about the user's crate.
    pub(crate) fn refusal(&self) -> String {
        let output = self.cargo();
        assert!(!output.status.success());
        let text = String::from_utf8(output.stderr).unwrap();
        let errors = text
            .split("\n\n")
            .filter(|block| block.starts_with("error") && !block.starts_with("error: could not compile"));
        errors.collect::<Vec<_>>().join("\n\n").replace('\\', "/")
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of a file of the repository.
pub(crate) fn fixture(file: &str) -> String {
    fs::read_to_string(repository().join(file)).unwrap()
}
