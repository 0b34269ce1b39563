//! `--model` with the path of a file.
#![allow(clippy::expect_used, reason = "test code outside of test functions")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{LLAMA, failure, json, number, rooflut, success, text, unwrapped};

fn folder(config: impl AsRef<[u8]>) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("config.json"), config).expect("a file");
    folder
}

fn run(folder: &Path) -> String {
    format!("run --requests 20 --model {}", folder.display())
}

#[test]
fn the_size_of_the_model_and_all_gpus_are_told() {
    let answer = json("run --requests 20 --model llama-3.1-70b --tp 4 --replicas 3");
    assert_eq!(answer["parameters"], 70_553_706_496_u64);
    let weights = number(&answer, "/weight_bytes");
    assert!((weights / 141.1e9 - 1.0).abs() < 0.001, "{weights}");
    assert_eq!(answer["gpus"], 12_u64);
    let people = success("run --requests 20 --model llama-3.1-70b --tp 4 --replicas 3");
    assert!(people.starts_with("llama-3.1-70b on 12 h100 GPUs, "), "{people}");
    let size = "  model    70.55 billion parameters, 141.1 GB of bf16 weights, top-p sampler\n";
    assert!(people.contains(size), "{people}");
    let pools = "run --requests 20 --prefill-replicas 3 --decode-replicas 5 --link-bandwidth 50";
    let pools = json(&format!("{pools} --link-latency 10"));
    assert_eq!(pools["gpus"], 8_u64);

    let scout = "step --model llama-4-scout --tp 4 --kv-dtype fp8 --decode 8x100";
    let size = "107.77 billion parameters, 112.9 GB of bf16 and fp8 (experts) weights, fp8 KV cache, \
                top-p sampler";
    let step = success(scout).replace("\n           ", " ");
    assert!(step.contains(size), "{step}");
    let step = json(scout);
    assert_eq!(step["gpus"], 4_u64);
    assert!(number(&step, "/parameters") > 1e11);
}

#[test]
fn formats_in_a_file_beside_the_config_are_read() {
    let folder = folder(LLAMA);
    let bf16 = json(&run(folder.path()));
    let formats = r#"{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8",
        "exclude_modules": ["lm_head"]}}"#;
    let beside = folder.path().join("hf_quant_config.json");
    fs::write(&beside, formats).expect("a file");
    let fp8 = json(&run(folder.path()));
    assert_eq!(text(&fp8, "/weight_dtype"), "fp8");
    assert_eq!(text(&fp8, "/kv_dtype"), "fp8");
    let given = json("run --requests 20 --dtype fp8 --kv-dtype fp8 --sampler plain");
    assert_eq!(fp8["e2e_ms"], given["e2e_ms"]);
    let back = format!("{} --dtype bf16 --kv-dtype bf16", run(folder.path()));
    assert_eq!(json(&back)["e2e_ms"], bf16["e2e_ms"]);
    fs::write(&beside, "no JSON").expect("a file");
    let message = failure(&run(folder.path()));
    assert!(message.contains("hf_quant_config.json: expected ident"), "{message}");
}

#[test]
fn the_sampler_of_a_generation_config_beside_the_config_is_that_of_the_flag() {
    let folder = folder(LLAMA);
    let run = run(folder.path());
    let plain = json(&run);
    let generation = r#"{"top_p": 0.8, "repetition_penalty": 1.05}"#;
    fs::write(folder.path().join("generation_config.json"), generation).expect("a file");
    let penalized = json(&run);
    assert!(number(&penalized, "/e2e_ms/mean") > number(&plain, "/e2e_ms/mean"));
    let given = json("run --requests 20 --sampler repetition-penalty");
    assert_eq!(penalized["e2e_ms"], given["e2e_ms"]);
    let flag = json(&format!("{run} --sampler plain"));
    assert_eq!(flag["e2e_ms"], plain["e2e_ms"]);
}

#[test]
fn the_flag_that_reads_a_refused_file_is_named_and_works() {
    let quantized = LLAMA.replace('}', r#", "quantization_config": {"quant_method": "mxfp4"}}"#);
    let kv = quantized.replace("mxfp4\"", "fp8\", \"kv_cache_scheme\": {\"num_bits\": 4}");
    let unknown = LLAMA.replace("\"llama\"", "\"new\"");
    let latent = LLAMA.replace('}', ", \"kv_lora_rank\": 512}");
    let assume = "--assume-llama";
    for (config, flag, note) in [
        (&unknown, assume, Some("in spite of model_type")),
        (&latent, assume, Some("in spite of kv_lora_rank")),
        (&quantized, "--dtype fp8", None),
        (&kv, "--kv-dtype fp8", None),
    ] {
        let folder = folder(config);
        let name = flag.split(' ').next().expect("a name");
        let message = failure(&run(folder.path()));
        assert!(message.ends_with(&format!(" ({name})")), "{message}");
        let read = json(&format!("{} {flag}", run(folder.path())));
        assert_eq!(read["completed"], 20_u64);
        let notes = read["notes"].to_string();
        assert_eq!(notes.contains("is read as a Llama"), note.is_some(), "{notes}");
        assert!(notes.contains(note.unwrap_or_default()), "{notes}");
        // The formats of --dtype and --kv-dtype are those of the model that is served.
        let path = folder.path().display();
        let draft = "run --requests 5 --draft-tokens 2 --acceptance 0.5 --draft-model";
        let drafted = rooflut(&format!("{draft} {path} {flag}")).output();
        assert_eq!(drafted.expect("it starts").status.success(), note.is_some());
    }
    let folder = folder(unknown);
    let scenario = folder.path().join("scenario.toml");
    fs::write(&scenario, "assume_llama = true").expect("a file");
    let scenario = format!("{} --scenario {}", run(folder.path()), scenario.display());
    assert!(unwrapped(&scenario).contains("is read as a Llama, in spite of"));
}

#[test]
fn the_built_in_scout_and_its_file_have_layers_with_chunks() {
    let folder = folder(
        r#"{"model_type": "llama4", "text_config": {"model_type": "llama4_text",
        "attention_chunk_size": 8192, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
        "interleave_moe_layer_step": 1, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
        "max_position_embeddings": 10485760, "num_attention_heads": 40, "num_experts_per_tok": 1,
        "num_hidden_layers": 48, "num_key_value_heads": 8, "num_local_experts": 16,
        "vocab_size": 202048}, "quantization_config": {"quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": {"num_bits": 8},
        "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}},
        "ignore": ["re:.*lm_head", "re:.*self_attn", "re:.*router", "re:vision_model.*"]}}"#,
    );
    let of = |model: &str| {
        let flags = "run --requests 3 --tp 4 --output 192 --sampler top-p";
        format!("{flags} --model {model} --prompt 20000")
    };
    let file = folder.path().display().to_string();
    let (built_in, read) = (json(&of("llama-4-scout")), json(&of(&file)));
    for name in ["e2e_ms", "max_model_len", "weight_bytes", "parameters", "kv_blocks"] {
        assert_eq!(built_in[name], read[name], "{name}");
    }
}

#[test]
fn a_model_without_gates_is_timed_by_the_roofline_alone() {
    let apertus = LLAMA.replace("\"llama\"", "\"apertus\", \"hidden_act\": \"xielu\"");
    let folder = folder(apertus);
    let step = format!("step --decode 8x1000 --model {}", folder.path().display());
    let gated = json("step --decode 8x1000");
    let ungated = json(&step);
    let gate_up = |answer| number(answer, "/parts/gate_up");
    assert!(gate_up(&ungated) < 0.7 * gate_up(&gated), "{ungated}");
}
