//! Which rows `rooflut import` takes for those of the GPU, the engine and the formats that are meant.

use std::fs;

use crate::support::imports::{ORIGIN, Place, SAID, counts, fixture, gemms, path};
use tempfile::TempDir;

const H100: &str = "NVIDIA H100 80GB HBM3";

#[test]
fn rows_of_another_device_are_not_rows_of_the_gpu() {
    let place = Place::new();
    let pcie = gemms(&[("0.24.0", "NVIDIA H100 PCIe", 8)]);
    let message = place.refused("aiconfigurator", path(&pcie), SAID);
    assert!(
        message.starts_with("device: expected rows of h100, found rows of NVIDIA H100 PCIe"),
        "{message}"
    );
    assert!(
        message.contains("--gpu-sheet with a data sheet called h100-pcie"),
        "{message}"
    );
    let h200 = gemms(&[("0.24.0", "NVIDIA H200", 8)]);
    let message = place.refused("aiconfigurator", path(&h200), SAID);
    assert!(
        message
            .trim_end()
            .ends_with("rows of NVIDIA H200 need --gpu h200"),
        "{message}"
    );
}

#[test]
fn of_several_devices_a_condition_says_which() {
    let place = Place::new();
    let src = gemms(&[("0.24.0", H100, 8), ("0.24.0", "NVIDIA H200", 16)]);
    let message = place.refused("aiconfigurator", path(&src), SAID);
    let condition = format!("--where 'device={H100}'");
    assert!(message.contains(&condition), "{message}");
    let said = format!("{SAID} {condition}");
    let answer = place.import("aiconfigurator", path(&src), &said);
    assert_eq!(counts(&answer, "gemm", "not selected"), (1, 1));
}

#[test]
fn the_engine_is_that_of_the_rows_that_are_written() {
    let place = Place::new();
    let src = gemms(&[("0.22.0", H100, 8), ("0.24.0", H100, 16)]);
    let message = place.refused("aiconfigurator", path(&src), SAID);
    assert!(
        message.contains("one engine stack, found VLLM 0.22.0, VLLM 0.24.0"),
        "{message}"
    );
    let said = format!("{SAID} --where version=0.22.0");
    place.import("aiconfigurator", path(&src), &said);
    let set = place.read("set.toml");
    assert!(set.contains("engine = \"VLLM 0.22.0\"\n"), "{set}");
    // One name in two spellings is one name.
    let gemm = src.path().join("gemm_perf.txt");
    let csv = fs::read_to_string(&gemm).expect("a file");
    let csv = csv.replace("VLLM,0.22.0,NVIDIA", "vllm,0.24.0,nvidia");
    fs::write(&gemm, csv).expect("a file");
    let said = format!("{SAID} --force");
    let answer = place.import("aiconfigurator", path(&src), &said);
    assert_eq!(counts(&answer, "gemm", ""), (2, 0));
}

#[test]
fn names_of_formats_that_no_row_has_are_refused() {
    let place = Place::new();
    let src = gemms(&[("0.24.0", H100, 8)]);
    let said = format!("{SAID} --dtype-name bogus=bf16");
    let message = place.refused("aiconfigurator", path(&src), &said);
    assert!(
        message.contains("--dtype-name bogus: expected a name that a row has, one of bfloat16"),
        "{message}"
    );
}

#[test]
fn files_of_a_header_only_have_no_rows() {
    let place = Place::new();
    let message = place.refused("aiconfigurator", path(&gemms(&[])), SAID);
    assert!(message.contains("only headers"), "{message}");
}

#[test]
fn a_pointer_of_git_lfs_is_no_table() {
    let place = Place::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    for name in ["gemm_perf.txt", "gemm_perf.parquet"] {
        let src = TempDir::new().expect("a folder");
        fs::write(src.path().join(name), pointer).expect("a file");
        let message = place.refused("aiconfigurator", path(&src), SAID);
        assert!(
            message.contains(name) && message.contains("`git lfs pull`"),
            "{message}"
        );
    }
}

#[test]
fn a_data_sheet_is_of_the_device_that_it_is_called_as() {
    let place = Place::new();
    let pcie = gemms(&[("0.24.0", "NVIDIA H100 PCIe", 8)]);
    let sheet = pcie.path().join("sheet.toml");
    let with = |name: &str| {
        let toml = format!(
            "[gpu]\nname = \"{name}\"\ndescription = \"H100 PCIe\"\nbf16_tflops = 756.0\n\
             mem_bytes = 80000000000\nmem_bw_gb_per_s = 2000.0\nl2_bytes = 50000000\nsms = 114\n\
             link_gb_per_s = 300.0\nsource = \"data sheet\"\n"
        );
        fs::write(&sheet, toml).expect("a file");
    };
    let said = format!("--gpu-sheet {} {ORIGIN}", sheet.display());
    with("h200-pcie");
    let message = place.refused("aiconfigurator", path(&pcie), &said);
    assert!(message.contains("expected rows of h200-pcie"), "{message}");
    with("h100-pcie");
    let answer = place.import("aiconfigurator", path(&pcie), &said);
    assert_eq!(counts(&answer, "gemm", ""), (1, 0));
}

#[test]
fn names_of_formats_are_not_explained_where_no_file_has_any() {
    let place = Place::new();
    let said = format!("{SAID} --engine vLLM --dtype bf16 --dtype-name bogus=bf16");
    let message = place.refused("vidur", &fixture("vidur"), &said);
    assert!(
        message.contains("found no row that names a format"),
        "{message}"
    );
}
