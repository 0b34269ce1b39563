//! A made-up engine stack.

use std::fs;

use rooflut_codegen::generate_engines;

/// Line 1 is the name; from line 4 on each constant has five lines.
pub(crate) const ENGINE: &str = r#"name = "toy-1.0"
description = "An engine that does not exist"
scheduling = "synchronous"
[layer]
value = 3.0
unit = "us"
meaning = "launches"
source = "made up"
[small_kernel_bandwidth]
value = 0.25
unit = "share"
meaning = "small kernels"
source = "made up"
[logit]
value = 0.5
unit = "ns"
meaning = "sampling"
source = "made up"
[moe_layer]
value = 7.0
unit = "us"
meaning = "routing"
source = "made up"
[expert_bandwidth]
value = 0.75
unit = "share"
meaning = "experts"
source = "made up"
[host]
value = 0.0
unit = "us"
meaning = "waiting"
source = "made up"
[api_server]
value = 9.0
unit = "ms"
meaning = "HTTP"
source = "made up"
[cuda_graph_max_tokens]
value = 64
unit = "tokens"
meaning = "graphs"
source = "made up"
[smoothed_rows]
value = 48
unit = "rows"
meaning = "smoothed"
source = "made up"
[smoothing_width]
value = 0.625
unit = "ln(rows)"
meaning = "how smooth"
source = "made up"
[cold_kv]
value = 4.0
unit = "L2"
meaning = "cold"
source = "made up"
"#;

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
