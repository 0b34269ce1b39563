//! Files of engine stacks that codegen accepts, and the emitted source.
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::bench_data;
use crate::support::engines::{ENGINE, generate, generate_all};
use rooflut_codegen::generate_engines;

/// Returns `source` on one line.
fn on_one_line(source: &str) -> String {
    source.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_becomes_a_static_in_si_units() {
    let source = on_one_line(&generate(&ENGINE).unwrap());
    for expected in [
        "/// An engine that does not exist.",
        "pub static TOY_1_0: EngineStack",
        "name: \"toy-1.0\"",
        "description: \"An engine that does not exist\"",
        "scheduling: Scheduling::Synchronous",
        "empty_schedule_sleep_ns: 2000,",
        "scheduler_reserve_full_isl: true",
        "Rule { name: \"victim_token\", value: \"computed\", meaning: \"priority: ",
        "cuda_graph_max_tokens: 64",
        "smoothed_rows: 48",
        "smoothing_width: 0.625",
        "cold_kv: 4.0, lookup_error_share: 0.375, step_error: 0.125, other_step_error: 0.25",
        "first_token_error: 0.875, other_first_token_error: 0.5",
        "memory: MemoryConstants { non_torch_memory: 268435456.0, communication_memory: 1610612736.0, \
         logit_memory: 14.0, logit_buffer: 4.0, kept_expert_workspace: 1.0, graph_memory: 0.0, \
         graph_layer_memory: 524288.0 }",
        "defaults: ServeDefaults { version: \"1.0\", sources: &[(\"toy/args.py\", \"0123456789abcdef",
        "gpu_memory_utilization: 0.75, tokens_within_requests: true, graphs_hold_drafts: false",
        "gpus: &[GpuClass { memory_gib: 70, except: &[\"slow\"], limits: ServeLimits { max_num_seqs: 32, \
         max_num_batched_tokens: 512, cuda_graph_max_tokens: 64 } }, ]",
        "others: ServeLimits { max_num_seqs: 8, max_num_batched_tokens: 256, cuda_graph_max_tokens: 16 }",
        "all_reduce_growth: 1.25",
        "routing: 0.8125",
        "expert_bandwidth: 0.75",
        "fp8_block_expert_bandwidth: 0.625",
        "fp8_block_unreached_experts: 0.0",
        "blackwell_fp8_block_experts: 1.5",
        "tuned_experts: 0.875",
        "small_kernel_bandwidth: 0.25",
        "sustained_math: 0.5",
        "blackwell_sustained_math: 0.625",
        "sustained_reads: 0.875",
        "routed_padding: 1.0",
        "meaning: \"routing\", source: \"made up\"",
        "pub static ALL: [&EngineStack; 1] = [&TOY_1_0]",
    ] {
        assert!(source.contains(expected), "no {expected} in {source}");
    }
    for (name, seconds) in [
        ("layer", 3e-6),
        ("logit", 0.5e-9),
        ("moe_layer", 7e-6),
        ("host", 0.0),
        ("api_server", 9e-3),
        ("sort", 11e-6),
        ("sorted_logit", 0.375e-9),
        ("penalty", 12e-6),
        ("all_reduce_wait", 1.5e-6),
        ("prompt_layer", 13e-6),
        ("blackwell_moe_layer", 22e-6),
        ("blackwell_prompt_layer", 23e-6),
        ("prompt_moe_layer", 24e-6),
        ("prompt_state_layer", 19e-6),
        ("uncaptured_state_layer", 21e-6),
        ("uncaptured_layer", 14e-6),
        ("host_request", 16e-6),
        ("fused_all_reduce", 18e-6),
        ("api_token", 17e-6),
        ("api_output", 15e-6),
    ] {
        let rest = source.split(&format!(" {name}: Seconds(")).nth(1).unwrap();
        let number: &str = rest.split(')').next().unwrap();
        let number: f64 = number.parse().unwrap();
        assert!((number - seconds).abs() <= 1e-15 * seconds, "{name}: {number}");
    }
}

#[test]
fn spellings_of_toml_do_not_matter() {
    let expected = generate(&ENGINE).unwrap();
    for other in [
        ENGINE.replace('\n', "\r\n"),
        format!("\u{feff}# A comment\n{}", *ENGINE),
        ENGINE.replace("value = 3.0", "value = 3"),
        ENGINE.replace("value = 0.0", "value = 0"),
    ] {
        assert_eq!(generate(&other).unwrap(), expected, "{other}");
    }
}

#[test]
fn a_stack_has_what_its_file_leaves_out_from_those_that_it_inherits_from() {
    let child = r#"name = "toy-1.1"
description = "An heir"
inherits = "toy-1.0"
[rules]
scheduling = "async"
[host]
value = 5
unit = "us"
meaning = "waiting"
source = "made up"
"#;
    let grandchild = r#"name = "toy-1.2"
description = "An heir of an heir"
inherits = "toy-1.1"
[rules]
freed_blocks = "uncached-first"
"#;
    let files = [("toy-1.0", ENGINE.as_str()), ("toy-1.1", child), ("toy-1.2", grandchild)];
    let source = on_one_line(&generate_all(&files).unwrap());
    let newest = source.split("pub static TOY_1_2").nth(1).unwrap();
    for expected in [
        "inherits: Some(\"toy-1.1\")",
        "rules: SchedulingRules { scheduling: Scheduling::OneStepAhead, empty_schedule_sleep_ns: 2000,",
        "freed_blocks: FreedBlocks::UncachedFirst",
        "layer: Seconds(3e-6)",
        "host: Seconds(5e-6)",
        "source: \"made up\", stack: \"toy-1.0\"",
        "meaning: \"waiting\", source: \"made up\", stack: \"toy-1.1\"",
        "value: \"async\", meaning: \"a batch is fixed when the step before it has ended (sync) or starts (async)\", \
         stack: \"toy-1.1\"",
        "stack: \"toy-1.2\"",
    ] {
        assert!(newest.contains(expected), "no {expected} in {newest}");
    }
    // The order of the files does not matter.
    let [oldest, older, newer] = files;
    let reversed = on_one_line(&generate_all(&[newer, older, oldest]).unwrap());
    let same = reversed.split("pub static TOY_1_2").nth(1).unwrap();
    let end = |text: &str| text.split("}; ").next().unwrap().to_owned();
    assert_eq!(end(same), end(newest));
}

/// Files of the built-in engines, in order of their names.
fn built_in() -> Vec<PathBuf> {
    let dir = fs::read_dir(bench_data().join("engines")).unwrap();
    let mut paths: Vec<PathBuf> = dir.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn the_built_in_engines_become_documented_rust() {
    let paths = built_in();
    assert!(paths.len() >= 2);
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let source = generate_engines(&paths).unwrap();
    assert_eq!(generate_engines(&paths).unwrap(), source);
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let mut names = Vec::new();
    for pair in lines.windows(2) {
        let [above, line] = pair else { continue };
        if let Some(item) = line.strip_prefix("pub static ") {
            names.push(item.split(':').next().unwrap());
            let documented = above.starts_with("///");
            assert!(documented, "{line}");
        }
    }
    let mut expected: Vec<String> = paths
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy())
        .map(|stem| stem.to_uppercase().replace(['-', '.'], "_"))
        .collect();
    expected.push("ALL".to_owned());
    assert_eq!(names, expected);
}

#[test]
fn engines_come_in_the_order_of_their_paths() {
    let mut paths = built_in();
    let last = |paths: &[PathBuf]| {
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let source = on_one_line(&generate_engines(&paths).unwrap());
        source.split("= [&").last().unwrap().to_owned()
    };
    let sorted = last(&paths);
    paths.reverse();
    assert_ne!(last(&paths), sorted);
}
