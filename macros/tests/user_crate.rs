//! A crate with `rooflut::tables!` as a user sees it: what cargo says of bad sets, and that a changed
//! CSV recompiles. One test, because it waits for one cargo after the other.
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

const MAIN: &str = r#"fn main() {
    let set = rooflut::tables!("data/my-set");
    let gemm = set.gemm.as_ref().unwrap();
    println!("{} {} {:?}", set.name, set.gpu.name, gemm.entries[0].points.latency_us());
}
"#;

struct UserCrate {
    dir: PathBuf,
}

impl UserCrate {
    /// A crate with a good set in `data/my-set`. Its dependencies are compiled once and kept.
    fn new() -> UserCrate {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("user");
        let _ = fs::remove_dir_all(dir.join("data"));
        for folder in ["src", "data/my-set"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        let user = UserCrate { dir };
        // The same versions as here: nothing has to be downloaded.
        fs::copy(repository.join("Cargo.lock"), user.dir.join("Cargo.lock")).unwrap();
        let path = repository.display().to_string().replace('\\', "/");
        user.write("Cargo.toml", &MANIFEST.replace("REPOSITORY", &path));
        user.write("src/main.rs", MAIN);
        let fixture = repository.join("tests/fixtures/own-gpu");
        for file in ["set.toml", "gemm.csv"] {
            let text = fs::read_to_string(fixture.join(file)).unwrap();
            user.write(&format!("data/my-set/{file}"), &text);
        }
        user
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.dir.join(file), text).unwrap();
    }

    fn cargo(&self) -> Output {
        Command::new(env!("CARGO"))
            .args(["run", "--offline", "--quiet", "--color", "never"])
            .current_dir(&self.dir)
            .env("CARGO_TARGET_DIR", self.dir.join("target"))
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .output()
            .unwrap()
    }

    /// What the program prints.
    fn run(&self) -> String {
        let output = self.cargo();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The compiler's errors about the user's crate, up to the line that they point at.
    fn refusal(&self) -> String {
        let output = self.cargo();
        assert!(!output.status.success());
        let text = String::from_utf8(output.stderr).unwrap();
        let errors = text.split("\n\n").filter(|block| {
            block.starts_with("error") && !block.starts_with("error: could not compile")
        });
        errors.collect::<Vec<_>>().join("\n\n").replace('\\', "/")
    }
}

#[test]
fn cargo_tells_what_is_wrong_and_recompiles_on_change() {
    let user = UserCrate::new();
    let gemm = |latency| format!("dtype,k,n,m,latency_us\nbf16,1024,1024,16,{latency}\n");
    assert_eq!(user.run(), "own-gpu toy [12.5]\n");

    user.write("data/my-set/gemm.csv", &gemm("13.5"));
    assert_eq!(user.run(), "own-gpu toy [13.5]\n");

    let literal = "\n --> src/main.rs:2:32
  |
2 |     let set = rooflut::tables!(\"data/my-set\");
  |                                ^^^^^^^^^^^^^";
    user.write("data/my-set/gemm.csv", &gemm("-"));
    assert_eq!(
        user.refusal(),
        format!(
            "error: my-set/gemm.csv:2: latency_us: expected a positive number, found \"-\"; correct \
             it or leave the row out{literal}"
        )
    );

    fs::remove_file(user.dir.join("data/my-set/set.toml")).unwrap();
    assert_eq!(
        user.refusal(),
        format!(
            "error: data/my-set: expected a set.toml beside the tables (GPU, engine stack, timing, \
             t0, source, licence, date), found none; bench_data/README.md shows one{literal}"
        )
    );

    fs::remove_dir_all(user.dir.join("data")).unwrap();
    assert_eq!(
        user.refusal(),
        format!(
            "error: data/my-set: expected the folder of a table set, found none; check the path; \
             paths start at the folder of this crate's Cargo.toml{literal}"
        )
    );

    user.write("src/main.rs", &MAIN.replace("\"data/my-set\"", "DIR"));
    assert_eq!(
        user.refusal(),
        "error: expected the folder of a table set as one string, \
         rooflut::tables!(\"measurements/my-gpu\"), found something else
 --> src/main.rs:2:32
  |
2 |     let set = rooflut::tables!(DIR);
  |                                ^^^"
    );
}
