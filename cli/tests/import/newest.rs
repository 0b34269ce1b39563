//! AIConfigurator's newest layout: `GPU/OPERATION/ENGINE/VERSION/TABLE`.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fs;
use std::path::Path;

use crate::support::imports::{ORIGIN, Place, SAID, counts};
use crate::support::{list, success, text};
use tempfile::TempDir;

const COMMON: &str = "framework,version,device,kernel_source";

/// Writes a table whose rows begin with the engine stack, the device and a kernel.
fn write(root: &Path, folder: &str, table: &str, header: &str, rows: &[&str]) {
    let folder = root.join(folder);
    let (above, version) = folder
        .to_str()
        .and_then(|path| path.rsplit_once('/'))
        .expect("a version");
    let engine = above.rsplit('/').next().expect("an engine");
    let rows = rows.iter().map(|row| {
        let (kernel, row) = row.split_once(',').expect("a kernel");
        format!("{engine},{version},NVIDIA H100 80GB HBM3,{kernel},{row}\n")
    });
    let csv = format!("{COMMON},{header}\n{}", rows.collect::<String>());
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(table), csv).expect("a file");
}

const GEMM: &str = "gemm_dtype,m,n,k,latency";
const ALL_REDUCE: &str = "allreduce_dtype,num_gpus,message_size,latency";
const MOE: &str = "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,\
                   distribution,latency";

/// Tables of two versions of vLLM and one of another engine, below `h100_sxm`.
fn tree() -> TempDir {
    let src = TempDir::new().expect("a folder");
    let gpu = src.path().join("data/h100_sxm");
    for (stack, gemms) in [
        ("vllm/0.22.0", &["torch,bfloat16,8,4096,4096,0.03"][..]),
        (
            "vllm/0.24.0",
            &[
                "torch,bfloat16,8,4096,4096,0.02",
                "torch,bfloat16,16,4096,4096,0.02",
            ],
        ),
        ("sglang/0.5.9", &["torch,bfloat16,8,4096,4096,0.04"]),
    ] {
        write(&gpu, &format!("gemm/{stack}"), "gemm_perf.txt", GEMM, gemms);
        let reduce = ["custom,half,2,1048576,0.02"];
        write(
            &gpu,
            &format!("comm/{stack}"),
            "custom_allreduce_perf.txt",
            ALL_REDUCE,
            &reduce,
        );
        write(
            &gpu,
            &format!("mla/{stack}"),
            "generation_mla_perf.txt",
            "isl,latency",
            &["mla,1,0.1"],
        );
    }
    write(
        &gpu,
        "comm/nccl/2.27.3",
        "nccl_perf.txt",
        "num_gpus,latency",
        &["nccl,2,0.1"],
    );
    src
}

fn inside(src: &TempDir, path: &str) -> String {
    src.path()
        .join("data")
        .join(path)
        .to_str()
        .expect("UTF-8")
        .to_owned()
}

#[test]
fn of_several_engine_stacks_one_is_asked_for_with_all_other_answers() {
    let (place, src) = (Place::new(), tree());
    let message = place.refused("aiconfigurator", &inside(&src, "h100_sxm"), "");
    for flag in [
        "--gpu (",
        "--timing (",
        "--source (",
        "--license (",
        "--date (",
    ] {
        assert!(message.contains(flag), "{flag}: {message}");
    }
    let stacks =
        "--folder (which engine stack: the tree has sglang/0.5.9, vllm/0.22.0, vllm/0.24.0;";
    assert!(message.contains(stacks), "{message}");
}

#[test]
fn one_version_is_read_by_a_flag_or_by_its_path() {
    let src = tree();
    for (path, folder) in [
        ("h100_sxm", "--folder vllm/0.24.0"),
        // A folder of all GPUs.
        ("", "--folder vllm/0.24.0"),
        // Formerly a folder, now a part of several.
        ("h100_sxm/vllm/0.24.0", ""),
        (
            "h100_sxm",
            "--folder gemm/vllm/0.24.0 --folder comm/vllm/0.22.0 --engine mixed",
        ),
    ] {
        let place = Place::new();
        let flags = format!("{SAID} {folder}");
        let answer = place.import("aiconfigurator", &inside(&src, path), &flags);
        assert_eq!(counts(&answer, "gemm", ""), (2, 0), "{path}");
        assert_eq!(counts(&answer, "allreduce", ""), (1, 0), "{path}");
        let set = place.read("set.toml");
        let engines = ["engine = \"vllm 0.24.0\"\n", "engine = \"mixed\"\n"];
        assert!(engines.iter().any(|engine| set.contains(engine)), "{set}");
    }
    let gemm = inside(&src, "h100_sxm/gemm/vllm/0.22.0");
    let answer = Place::new().import("aiconfigurator", &gemm, SAID);
    assert_eq!(counts(&answer, "gemm", ""), (1, 0));
    assert_eq!(list(&answer, "/tables").len(), 1);
}

#[test]
fn many_files_that_are_not_read_are_one_line() {
    let (place, src) = (Place::new(), tree());
    let flags = format!("{SAID} --folder vllm/0.24.0");
    let text = success(&place.command("aiconfigurator", &inside(&src, "h100_sxm"), &flags));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let others = "custom_allreduce_perf.txt and 3 more: below no folder of --folder";
    assert!(text.contains(others), "{text}");
    let mla = text.matches("1 row: multi-head latent attention");
    assert_eq!(mla.count(), 3, "{text}");
}

#[test]
fn a_path_that_exists_nowhere_is_refused() {
    let (place, src) = (Place::new(), tree());
    for path in [
        &inside(&src, "h100_sxm/vllm/0.25.0"),
        "nowhere",
        "/nowhere/at/all",
    ] {
        let message = place.refused("aiconfigurator", path, SAID);
        assert!(message.starts_with("cannot read "), "{message}");
    }
}

#[test]
fn of_several_gpus_that_of_the_set_is_read() {
    let (place, src) = (Place::new(), tree());
    let gemms = ["torch,bfloat16,32,64,64,0.1"];
    let b200 = src.path().join("data/b200_sxm");
    write(&b200, "gemm/vllm/0.24.0", "gemm_perf.txt", GEMM, &gemms);
    let flags = format!("{SAID} --folder vllm/0.24.0");
    let answer = place.import("aiconfigurator", &inside(&src, ""), &flags);
    assert_eq!(counts(&answer, "gemm", ""), (2, 0));
    let mut other = list(&answer, "/not_imported").iter();
    let other = other.find(|file| text(file, "/path").contains("b200_sxm"));
    let other = other.expect("the table of the other GPU");
    assert_eq!(text(other, "/why"), "of another GPU (folder b200_sxm)");
}

#[test]
fn tables_that_are_not_asked_for_need_not_be_readable() {
    let src = tree();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    let gemms = src.path().join("data/h100_sxm/gemm/vllm");
    let flags = format!("{SAID} --folder vllm/0.24.0");
    fs::write(gemms.join("0.22.0/gemm_perf.txt"), pointer).expect("a file");
    let answer = Place::new().import("aiconfigurator", &inside(&src, "h100_sxm"), &flags);
    assert_eq!(counts(&answer, "gemm", ""), (2, 0));
    fs::write(gemms.join("0.24.0/gemm_perf.txt"), pointer).expect("a file");
    let message = Place::new().refused("aiconfigurator", &inside(&src, "h100_sxm"), &flags);
    assert!(message.contains("git lfs pull"), "{message}");
}

#[test]
fn everything_that_rows_leave_open_is_asked_for_at_once() {
    let (place, src) = (Place::new(), tree());
    let gpu = src.path().join("data/h100_sxm");
    let gemms = [
        "torch,bfloat16,8,4096,4096,0.02",
        "cutlass,bfloat16,8,4096,4096,0.03",
    ];
    write(&gpu, "gemm/vllm/0.24.0", "gemm_perf.txt", GEMM, &gemms);
    let experts = [
        "fused,bfloat16,8,4096,1024,2,8,1,1,balanced,0.2",
        "fused,bfloat16,8,4096,1024,2,8,1,1,power_law_1.01,0.3",
    ];
    write(&gpu, "moe/vllm/0.24.0", "moe_perf.txt", MOE, &experts);
    let folder = "--gpu h100 --folder vllm/0.24.0";
    let message = place.refused("aiconfigurator", &inside(&src, "h100_sxm"), folder);
    for words in [
        "--timing (",
        "gemm: one kernel has several latencies, which differ in kernel_source (cutlass, torch)",
        "moe: one kernel has several latencies, which differ in distribution (balanced, power_law_1.01)",
        "--where gemm.kernel_source=cutlass",
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // The kernels of other tables have other names.
    let select = "--where gemm.kernel_source=torch --where distribution=balanced";
    let flags = format!("{folder} {ORIGIN} {select}");
    let answer = place.import("aiconfigurator", &inside(&src, "h100_sxm"), &flags);
    assert_eq!(counts(&answer, "gemm", "not selected"), (1, 1));
    assert_eq!(counts(&answer, "moe", "not selected"), (1, 1));
    assert_eq!(counts(&answer, "allreduce", ""), (1, 0));
}

#[test]
fn the_other_tables_can_be_imported_without_an_impossible_one() {
    let (place, src) = (Place::new(), tree());
    let gpu = src.path().join("data/h100_sxm");
    let gemms = [
        "torch,bfloat16,8192,8192,8192,0.01",
        "torch,bfloat16,4096,8192,8192,0.01",
    ];
    write(&gpu, "gemm/vllm/0.24.0", "gemm_perf.txt", GEMM, &gemms);
    let path = inside(&src, "h100_sxm");
    let flags = format!("{SAID} --folder vllm/0.24.0");
    let message = place.refused("aiconfigurator", &path, &flags);
    let impossible = "gemm: 2 of 2 rows are faster than the GPU can be";
    assert!(message.starts_with(impossible), "{message}");
    let (_, skip) = message
        .rsplit_once("import the others with ")
        .expect("a flag");
    assert!(skip.starts_with("--skip "), "{message}");
    let answer = place.import("aiconfigurator", &path, &format!("{flags} {skip}"));
    assert_eq!(counts(&answer, "allreduce", ""), (1, 0));
    assert!(!place.dest().join("gemm.csv").exists());
}
