//! Generates Rust from the table sets of `bench_data/` whose features are on, the engine stacks and the
//! constants.
#![allow(clippy::expect_used, clippy::panic)] // A build script cannot return an error.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use rooflut_codegen::{Dtype, OperationKind};

/// The operations of step models without the feature `alloc`. Tables without it have these alone, in formats without
/// blocks, so that a program on a small device links no more than it can use.
const WITHOUT_ALLOC: [OperationKind; 5] =
    [OperationKind::Gemm, OperationKind::Prefill, OperationKind::Decode, OperationKind::AllReduce, OperationKind::Moe];

fn main() {
    let data = Path::new("bench_data");
    let gpus = data.join("gpus.toml");
    let is_built = |set: &str| env::var_os(feature(set)).is_some();
    let sets: Vec<PathBuf> =
        rooflut_codegen::BUILT_IN.iter().filter(|name| is_built(name)).map(|name| data.join(name)).collect();
    println!("cargo::rerun-if-changed=build.rs");
    let engines = data.join("engines");
    let constants = data.join("constants.toml");
    let errors = data.join("errors.csv");
    // A set may inherit from one whose feature is off.
    let folders = rooflut_codegen::BUILT_IN.map(|name| data.join(name));
    let folders = folders.iter().filter(|folder| folder.exists());
    for path in folders.chain([&gpus, &engines, &constants, &errors]) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let dirs: Vec<&Path> = sets.iter().map(PathBuf::as_path).collect();
    let has_alloc = env::var_os(feature("alloc")).is_some();
    let wanted = |operation, dtype: Dtype| has_alloc || WITHOUT_ALLOC.contains(&operation) && !dtype.is_block_scaled();
    let tables = rooflut_codegen::generate_builtin(&gpus, &dirs, wanted);
    write("tables.rs", tables);
    let engines = toml_files(&engines);
    let engines: Vec<&Path> = engines.iter().map(PathBuf::as_path).collect();
    write("engines.rs", rooflut_codegen::generate_engines(&engines));
    let errors = rooflut_codegen::generate_lookup_errors(&errors, |set, operation, dtype| {
        is_built(set) && wanted(operation, dtype)
    });
    write("errors.rs", errors);
    write("constants.rs", rooflut_codegen::generate_constants(&constants));
}

/// The environment variable that cargo sets where the feature is on.
fn feature(name: &str) -> String {
    format!("CARGO_FEATURE_{}", name.to_uppercase().replace('-', "_"))
}

/// The `.toml` files of a folder, in order of their names without extension.
fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of the engines can be read");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort_by(|one, other| one.file_stem().cmp(&other.file_stem()));
    files
}

fn write(name: &str, source: Result<String, rooflut_codegen::Error>) {
    match source {
        Ok(source) => {
            let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
            fs::write(Path::new(&out).join(name), source).expect("OUT_DIR is writable");
        }
        Err(error) => {
            println!("cargo::error={error}");
            process::exit(1);
        }
    }
}
