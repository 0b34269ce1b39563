//! Compares the public API with its listing, `docs/public-api.txt`; `--update` writes the listing.
//!
//! `cargo run --manifest-path tests/public_api/Cargo.toml -- --update`

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use public_api::{Builder, MINIMUM_NIGHTLY_RUST_VERSION};

/// The library, and the crate whose types it re-exports.
const CRATES: [&str; 2] = ["rooflut", "rooflut-roofline"];

/// The version of rustdoc's JSON that `public-api` reads.
const FORMAT: &str = "\"format_version\":57";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let listing = root.join("docs/public-api.txt");
    let mut found = String::new();
    for name in CRATES {
        let json = rustdoc_json(&root, name)?;
        if !fs::read_to_string(&json)?.contains(FORMAT) {
            println!(
                "the public API was not compared: expected rustdoc JSON with {FORMAT} (Rust 1.95, or the \
                 nightly {MINIMUM_NIGHTLY_RUST_VERSION}), found another version"
            );
            return Ok(ExitCode::SUCCESS);
        }
        let api = Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()?;
        for item in api.items() {
            found += &format!("{item}\n");
        }
    }
    if env::args().any(|argument| argument == "--update") {
        fs::write(&listing, found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let expected = fs::read_to_string(&listing)?;
    let (before, after): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let mut same = true;
    let removed = before.iter().filter(|line| !after.contains(line));
    let added = after.iter().filter(|line| !before.contains(line));
    let changes = removed.map(|line| ('-', line)).chain(added.map(|line| ('+', line)));
    for (sign, line) in changes {
        println!("{sign}{line}");
        same = false;
    }
    if same {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "the public API is not that of docs/public-api.txt; if the change is meant, run `cargo run \
         --manifest-path tests/public_api/Cargo.toml -- --update` and commit the file"
    );
    Ok(ExitCode::FAILURE)
}

/// Lets rustdoc write the API of a crate with all features as JSON, and returns its path.
fn rustdoc_json(root: &Path, name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("public-api");
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        // Rustdoc's JSON is unstable: a stable toolchain writes it only so.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["rustdoc", "-q", "-p", name, "--all-features", "--lib", "--target-dir"])
        .arg(&target)
        .args(["--", "-Zunstable-options", "--output-format", "json"])
        .status()?;
    if !status.success() {
        return Err(format!("rustdoc of {name}: {status}").into());
    }
    Ok(target.join(format!("doc/{}.json", name.replace('-', "_"))))
}
