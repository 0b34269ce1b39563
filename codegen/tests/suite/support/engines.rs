//! A made-up engine stack.

use std::fs;
use std::sync::LazyLock;

use rooflut_codegen::generate_engines;

/// Line 1 is the name; from line 4 on each constant has five lines.
pub(crate) static ENGINE: LazyLock<String> = LazyLock::new(|| {
    let head = r#"name = "toy-1.0"
description = "An engine that does not exist"
scheduling = "synchronous"
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
    ];
    let section = |(name, value, unit, meaning)| {
        format!(
            "[{name}]\nvalue = {value}\nunit = \"{unit}\"\nmeaning = \"{meaning}\"\nsource = \"made up\"\n"
        )
    };
    head.to_owned() + &constants.map(section).concat()
});

/// The source emitted for a file with this text, or the message of its refusal.
pub(crate) fn generate(text: &str) -> Result<String, String> {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("toy-1.0.toml");
    fs::write(&path, text).unwrap();
    generate_engines(&[&path]).map_err(|error| {
        let message = error.to_string();
        assert!(!message.contains('\n'), "more than a line: {message}");
        message
    })
}
