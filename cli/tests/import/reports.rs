//! `rooflut import`, on made-up files in the layouts as they are published.

use std::fs;

use crate::support::imports::{ORIGIN, Place, SAID, TREE, counts, fixture, has_finding};
use crate::support::{json, list, success, text, workspace};

#[test]
fn a_tree_of_blis_becomes_a_set_and_its_defects_are_told() {
    let place = Place::new();
    let answer = place.import("blis", &fixture("blis"), &format!("{SAID} {TREE}"));
    assert_eq!(
        counts(&answer, "gemm", "repeated with the same latency"),
        (8, 1)
    );
    assert_eq!(counts(&answer, "prefill", ""), (3, 0));
    assert_eq!(counts(&answer, "decode", "warm-up"), (10, 1));
    assert_eq!(
        counts(&answer, "decode", "faster than the GPU can be"),
        (10, 1)
    );
    for defect in ["warm-up", "eager floor", "mfu of 0", "ragged grid"] {
        assert!(has_finding(&answer, "decode", defect), "{defect}");
    }
    let not_imported: Vec<&str> = list(&answer, "/not_imported")
        .iter()
        .map(|file| text(file, "/why"))
        .collect();
    assert_eq!(not_imported.len(), 3);
    assert!(not_imported[0].contains("folder h20"), "{not_imported:?}");
    assert!(not_imported[1].contains("grouped GEMM"), "{not_imported:?}");
    assert!(
        not_imported[2].contains("multi-head latent attention"),
        "{not_imported:?}"
    );

    assert!(
        place
            .read("gemm.csv")
            .starts_with("dtype,k,n,m,latency_us\nfp8_block,4096,4096,8,9.5\n")
    );
    assert!(
        place
            .read("attention_decode.csv")
            .contains("\nbf16,bf16,32,8,128,2,32,4096,101.4\n")
    );
    let report = place.read("import-report.txt");
    assert!(
        report.contains("32-8-128-tp1.csv: line 2: the first row of its file"),
        "{report}"
    );
    assert!(
        report.contains("data.csv: line 10: repeated with the same latency"),
        "{report}"
    );
    assert!(
        place
            .read("set.toml")
            .starts_with("name = \"mine\"\ngpu = \"h100\"\n")
    );
    // Other commands read the written set.
    let gemm = place.dest().join("gemm.csv");
    let score = json(&format!(
        "tables score {} --gpu h100-infersim",
        gemm.display()
    ));
    assert_eq!(list(&score, "/rows").len(), 8);
}

#[test]
fn people_see_what_became_of_all_rows() {
    let place = Place::new();
    let told = success(&place.command("blis", &fixture("blis"), &format!("{SAID} {TREE}")));
    for part in [
        "gemm                9  read",
        "8  written",
        "1  left out: repeated",
        "eager floor",
    ] {
        assert!(told.contains(part), "{told}");
    }
    // The commands to try next do what they are said to do.
    let dest = place.dest();
    let dest = dest.to_str().expect("UTF-8");
    let next = format!("  rooflut tables check {dest}\n  rooflut --tables {dest} tables\n");
    assert!(told.ends_with(&next), "{told}");
    success(&format!("tables check {dest}"));
    assert!(success(&format!("--tables {dest} tables")).contains("mine"));
}

#[test]
fn tables_of_aiconfigurator_say_most_themselves() {
    let place = Place::new();
    let src = fixture("aiconfigurator");
    let message = place.refused("aiconfigurator", &src, SAID);
    assert!(
        message.contains("distribution (balanced, power_law_1.01)"),
        "{message}"
    );
    assert!(
        message.contains("--where moe.distribution=balanced"),
        "{message}"
    );
    let said = format!("{SAID} --where distribution=power_law_1.01");
    let answer = place.import("aiconfigurator", &src, &said);
    assert_eq!(
        counts(&answer, "gemm", "a format that table sets do not have"),
        (10, 1)
    );
    assert_eq!(counts(&answer, "prefill", "cached tokens"), (5, 1));
    assert_eq!(counts(&answer, "decode", ""), (4, 0));
    assert_eq!(counts(&answer, "moe", "experts on several ranks"), (2, 0));
    assert_eq!(counts(&answer, "moe", "not selected"), (2, 3));
    // Milliseconds, elements of two bytes, what was cached and the new token.
    assert!(
        place
            .read("moe.csv")
            .contains("bf16,8,2,4096,14336,2,1,131.2\n")
    );
    assert!(place.read("allreduce.csv").contains("2,256,4.29\n"));
    assert!(
        place
            .read("attention_decode.csv")
            .contains("bf16,bf16,32,8,128,1,64,1024,100.2\n")
    );
    assert!(
        place
            .read("set.toml")
            .contains("engine = \"VLLM 0.24.0\"\n")
    );
    // A format that the library does not know may be one that it does.
    let said = format!("{said} --dtype-name int8_wo=fp8_block --force");
    let answer = place.import("aiconfigurator", &src, &said);
    assert_eq!(counts(&answer, "gemm", "format"), (11, 0));
}

#[test]
fn profiles_of_vidur_hold_four_gemms_a_row() {
    let place = Place::new();
    let said = format!("{SAID} --engine vLLM --dtype bf16");
    let answer = place.import("vidur", &fixture("vidur"), &said);
    assert_eq!(counts(&answer, "gemm", "contradict each other"), (19, 1));
    assert_eq!(counts(&answer, "allreduce", "several nodes"), (3, 1));
    assert_eq!(
        counts(&answer, "allreduce", "repeated with another latency"),
        (3, 1)
    );
    assert!(
        place
            .read("gemm.csv")
            .contains("bf16,4096,28672,512,153.4\n")
    );
    assert_eq!(list(&answer, "/not_imported").len(), 2);
    let said = format!("{said} --statistic mean --force");
    place.import("vidur", &fixture("vidur"), &said);
    assert!(
        place
            .read("gemm.csv")
            .contains("bf16,4096,28672,512,156.468\n")
    );
}

#[test]
fn a_gpu_that_the_library_does_not_know_has_its_own_sheet() {
    let place = Place::new();
    let sheet = place.folder.path().join("mine.toml");
    let toml = "[gpu]\nname = \"h100-nvl\"\ndescription = \"H100 NVL\"\nbf16_tflops = 835.0\n\
        fp8_tflops = 1671.0\nmem_bytes = 94000000000\nmem_bw_gb_per_s = 3900.0\nl2_bytes = 50000000\n\
        sms = 132\nlink_gb_per_s = 300.0\nsource = \"data sheet\"\n";
    fs::write(&sheet, toml).expect("a file");
    let sheet = sheet.to_str().expect("UTF-8");
    let said = format!("--gpu-sheet {sheet} --folder h100 {ORIGIN} {TREE}");
    let answer = place.import("blis", &fixture("blis"), &said);
    assert_eq!(text(&answer, "/gpu"), "h100-nvl");
    assert!(has_finding(&answer, "decode", "peak"));
    assert!(
        place
            .read("set.toml")
            .contains("\n[gpu]\nname = \"h100-nvl\"\n")
    );
}

#[test]
fn files_whose_names_are_nearly_right_are_told() {
    let place = Place::new();
    let src = place.folder.path().join("mine.src");
    fs::create_dir(&src).expect("a folder");
    let gemm = fs::read(
        workspace()
            .join(fixture("aiconfigurator"))
            .join("gemm_perf.txt"),
    );
    let gemm = gemm.expect("a table");
    for name in ["gemm_perf.txt", "gemm_perf_v2.txt", "MoE.CSV", "notes.md"] {
        fs::write(src.join(name), &gemm).expect("a file");
    }
    let answer = place.import("aiconfigurator", src.to_str().expect("UTF-8"), SAID);
    let told: Vec<&str> = list(&answer, "/not_imported")
        .iter()
        .map(|file| text(file, "/path"))
        .filter_map(|path| path.rsplit('/').next())
        .collect();
    assert_eq!(told, ["MoE.CSV", "gemm_perf_v2.txt"]);
}
