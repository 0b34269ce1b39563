//! Measures what rooflut costs to build and to keep. `check.sh` runs both parts:
//!
//! - `tokens [FOLDER]` counts the tokens of production Rust in each package below a folder, this repository by default.
//! - `check NAME=VALUE...` counts them, too, and compares them and the given values with `.ci/ratchets.toml`.

mod packages;
mod ratchets;
mod tokens;

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use packages::Size;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tokens", folder @ ..] if folder.len() < 2 => {
            let folder = folder.first().map_or(repository, PathBuf::from);
            println!("{:>8} {:>8} {:>6}  package", "tokens", "lines", "files");
            let mut total = Size::default();
            for (package, size) in packages::sizes(&folder)? {
                println!("{size}  {package}");
                total += size;
            }
            println!("{total}  all");
            Ok(ExitCode::SUCCESS)
        }
        ["check", measured @ ..] => {
            let sizes = packages::sizes(&repository)?;
            let tokens: u64 = sizes.values().map(|size| size.tokens).sum();
            let mut values = vec![("tokens", tokens as f64)];
            for argument in measured {
                let (name, value) = argument.split_once('=').ok_or("expected NAME=VALUE")?;
                values.push((name, value.parse()?));
            }
            ratchets::check(&repository, &values)
        }
        _ => Err("usage: rooflut-ratchet tokens [FOLDER] | check NAME=VALUE...".into()),
    }
}
