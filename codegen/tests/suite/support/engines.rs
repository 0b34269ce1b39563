//! A made-up engine stack.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rooflut_codegen::generate_engines;

/// Line 1 is the name; lines 4 to 21 are the rules; from line 22 on each constant has five lines; the defaults are last.
pub(crate) static ENGINE: LazyLock<String> = LazyLock::new(|| {
    let head = r#"name = "toy-1.0"
description = "An engine that does not exist"
[rules]
scheduling = "sync"
empty_schedule_sleep_ns = 2_000
victim_token = "computed"
victim_index = "stays"
self_preemption = "ends-pass"
lone_prefill = "threshold"
scheduler_reserve_full_isl = true
freed_blocks = "last"
beyond_max_model_len = "reject"
draft_scheduling = "sync"
draft_slot = false
admission_lookahead = false
pad_spec_decode = "never"
chunk_drafts = false
cache_sampled_tokens = false
mtp_drops_block = false
window_in_flight = false
chunked_groups = true
"#;
    let constants = [
        ("layer", "3.0", "us", "launches"),
        ("small_kernel_bandwidth", "0.25", "share", "small kernels"),
        ("logit", "0.5", "ns", "sampling"),
        ("moe_layer", "7.0", "us", "routing"),
        ("expert_bandwidth", "0.75", "share", "experts"),
        ("host", "0.0", "us", "waiting"),
        ("api_server", "9.0", "ms", "HTTP"),
        ("cuda_graph_max_tokens", "64", "tokens", "graphs"),
        ("smoothed_rows", "48", "rows", "smoothed"),
        ("smoothing_width", "0.625", "ln(rows)", "how smooth"),
        ("cold_kv", "4.0", "L2", "cold"),
        ("lookup_error_share", "0.375", "share", "of lookups"),
        ("step_error", "0.125", "share", "of a step"),
        ("first_token_error", "0.875", "share", "of a token"),
        ("other_first_token_error", "0.5", "share", "of a token elsewhere"),
        ("sort", "11.0", "us", "sorting"),
        ("sorted_logit", "0.375", "ns", "sorting"),
        ("penalty", "12.0", "us", "penalty"),
        ("all_reduce_wait", "1.5", "us", "waiting"),
        ("all_reduce_growth", "1.25", "times", "messages"),
        ("routing", "0.8125", "exponent", "popular experts"),
        ("prompt_layer", "13.0", "us", "prompts"),
        ("uncaptured_layer", "14.0", "us", "chunks"),
        ("host_request", "16.0", "us", "requests"),
        ("fused_all_reduce", "18.0", "us", "fused"),
        ("fused_all_reduce_bandwidth", "0.25", "share", "fused"),
        ("fp8_block_expert_bandwidth", "0.625", "share", "blocks"),
        ("sustained_math", "0.5", "share", "clocks"),
        ("blackwell_sustained_math", "0.625", "share", "clocks"),
        ("fp8_block_unreached_experts", "0.0", "share", "blocks"),
        ("api_token", "17.0", "us", "tokenizer"),
        ("api_output", "15.0", "us", "detokenizer"),
        ("other_step_error", "0.25", "share", "of a step"),
        ("sustained_reads", "0.875", "share", "clocks"),
        ("shared_expert_tokens", "64", "tokens", "a stream of their own"),
        ("routed_padding", "1.0", "share", "padding"),
        ("blackwell_moe_layer", "22.0", "us", "routing"),
        ("tuned_experts", "0.875", "share", "tuned"),
        ("blackwell_fp8_block_experts", "1.5", "times", "blocks"),
        ("blackwell_prompt_layer", "23.0", "us", "prompts"),
        ("prompt_moe_layer", "24.0", "us", "experts"),
        ("prompt_state_layer", "19.0", "us", "states"),
        ("uncaptured_state_layer", "21.0", "us", "states"),
        ("non_torch_memory", "0.25", "GiB", "kernels"),
        ("communication_memory", "1.5", "GiB", "buffers"),
        ("logit_memory", "14.0", "bytes", "of a logit"),
        ("logit_buffer", "4.0", "bytes", "of masks"),
        ("kept_expert_workspace", "1.0", "share", "of a workspace"),
        ("graph_memory", "0.0", "GiB", "of graphs"),
        ("graph_layer_memory", "0.5", "MiB", "of a layer"),
    ];
    let section = |(name, value, unit, meaning)| {
        format!("[{name}]\nvalue = {value}\nunit = \"{unit}\"\nmeaning = \"{meaning}\"\nsource = \"made up\"\n")
    };
    let defaults = r#"[defaults]
version = "1.0"
gpu_memory_utilization = 0.75
tokens_within_requests = true
graphs_hold_drafts = false
[[defaults.gpus]]
memory_gib = 70
except = ["slow"]
max_num_seqs = 32
max_num_batched_tokens = 512
cuda_graph_max_tokens = 64
[defaults.others]
max_num_seqs = 8
max_num_batched_tokens = 256
cuda_graph_max_tokens = 16
[defaults.sources]
"toy/args.py" = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
"#;
    head.to_owned() + &constants.map(section).concat() + defaults
});

/// The source emitted for a file with this text, or the message of its refusal.
pub(crate) fn generate(text: &str) -> Result<String, String> {
    generate_all(&[("toy-1.0", text)])
}

/// The source emitted for files with these names and texts, or the message of their refusal.
pub(crate) fn generate_all(files: &[(&str, &str)]) -> Result<String, String> {
    let temp = tempfile::tempdir().unwrap();
    let paths = files.iter().map(|(name, text)| {
        let path = temp.path().join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        path
    });
    let paths: Vec<PathBuf> = paths.collect();
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    generate_engines(&paths).map_err(|error| {
        let message = error.to_string();
        assert!(!message.contains('\n'), "more than a line: {message}");
        message
    })
}
