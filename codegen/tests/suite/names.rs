//! Names reserved for rooflut's own sets.

use std::fs;

use crate::support::{Fixture, GPUS, bench_data};
use rooflut_codegen::{BUILT_IN, Gpus, generate_expression, read_own_set, read_set};

const ROW: &str = "bf16,512,512,16,10\n";
/// A set that is not compiled in: rooflut-collect gives sets of an H200 this name.
const MEASURED: &str = "h200-measured";

#[test]
fn they_are_the_folders_of_bench_data_and_features_of_rooflut() {
    let mut folders: Vec<String> = fs::read_dir(bench_data())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("set.toml").exists() && !path.ends_with(MEASURED))
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    folders.sort();
    assert_eq!(folders, BUILT_IN);
    let manifest = fs::read_to_string(bench_data().join("../Cargo.toml")).unwrap();
    for name in BUILT_IN {
        let feature = format!("\n{name} = []\n");
        assert!(manifest.contains(&feature), "no feature {name}");
    }
}

#[test]
fn a_users_set_must_have_another_name() {
    for name in BUILT_IN {
        let fixture = Fixture::gemm(ROW).set_toml("\"set\"", &format!("{name:?}"));
        let expected = format!(
            "set/set.toml:1: name: expected a name that no built-in set has (a100, \
             b200, b300, gb200, gb300, h100, h200, l40s, l40s-p2p, rtx-pro-6000), found \"{name}\"; rename the set"
        );
        let gpus = Gpus::parse(GPUS).unwrap();
        let read = read_own_set(&fixture.dir(), &gpus).err().unwrap();
        assert_eq!(read.to_string(), expected);
        let compiled = generate_expression(&fixture.dir(), GPUS).unwrap_err();
        assert_eq!(compiled.to_string(), expected);
        assert_eq!(read_set(&fixture.dir(), GPUS).unwrap().name(), name);
    }
    for name in [MEASURED, "h100-at-home"] {
        let fixture = Fixture::gemm(ROW).set_toml("\"set\"", &format!("{name:?}"));
        assert!(generate_expression(&fixture.dir(), GPUS).is_ok());
    }
}
