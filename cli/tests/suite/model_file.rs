//! `--model` with the path of a file.
#![allow(clippy::expect_used, reason = "test code outside of test functions")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{failure, failure_with_answer, json, number, success, text};

const LLAMA: &str = r#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
    "vocab_size": 128256, "max_position_embeddings": 131072}"#;

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
    assert!(
        people.starts_with("llama-3.1-70b on 12 h100 GPUs, "),
        "{people}"
    );
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
    assert!(
        message.contains("hf_quant_config.json: expected ident"),
        "{message}"
    );
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
    let message = failure("run --sampler beam");
    assert!(
        message.contains("expected one of plain, top-p, repetition-penalty"),
        "{message}"
    );
}

#[test]
fn the_flag_that_reads_a_refused_file_is_named_and_works() {
    let quantized = LLAMA.replace(
        '}',
        r#", "quantization_config": {"quant_method": "mxfp4"}}"#,
    );
    let kv = quantized.replace("mxfp4\"", "fp8\", \"kv_cache_scheme\": {\"num_bits\": 4}");
    for (config, flag) in [
        (LLAMA.replace("\"llama\"", "\"new\""), "--assume-llama"),
        (
            LLAMA.replace('}', ", \"kv_lora_rank\": 512}"),
            "--assume-llama",
        ),
        (quantized, "--dtype fp8"),
        (kv, "--kv-dtype fp8"),
    ] {
        let folder = folder(&config);
        let message = failure(&run(folder.path()));
        let name = flag.split(' ').next().expect("a name");
        assert!(message.ends_with(&format!(" ({name})")), "{message}");
        let flags = format!("{} {flag}", run(folder.path()));
        let read = json(&flags);
        assert_eq!(read["completed"], 20_u64);
        let notes = read["notes"].as_array().expect("notes");
        match flag {
            "--assume-llama" => {
                let (key, _) = message
                    .split_once("config.json: ")
                    .expect("a file")
                    .1
                    .split_once(": ")
                    .expect("a key");
                let note = notes[0].as_str().expect("a note");
                assert!(
                    note.ends_with(&format!(" is read as a Llama, in spite of {key}")),
                    "{note}"
                );
                let text: Vec<String> = success(&flags)
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect();
                assert!(text.join(" ").contains("is read as a Llama, in spite of"));
            }
            _ => assert_eq!(notes.len(), 0),
        }
        let draft = format!("run --requests 5 --draft-tokens 2 --acceptance 0.5 {flag}");
        let draft = format!("{draft} --draft-model {}", folder.path().display());
        match flag {
            // The formats of --dtype and --kv-dtype are those of the model that is served.
            "--assume-llama" => drop(success(&draft)),
            _ => assert!(
                failure(&draft).contains("config.json: quantization_config"),
                "{flag}"
            ),
        }
    }
    let folder = folder(LLAMA.replace("\"llama\"", "\"new\""));
    let scenario = folder.path().join("scenario.toml");
    fs::write(&scenario, "assume_llama = true").expect("a file");
    success(&format!(
        "{} --scenario {}",
        run(folder.path()),
        scenario.display()
    ));
}

#[test]
fn the_built_in_scout_and_its_file_refuse_requests_beyond_a_chunk() {
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
    let of = |model: &str, prompt: u32| {
        let flags = "run --requests 3 --tp 4 --output 192 --sampler top-p";
        format!("{flags} --model {model} --prompt {prompt}")
    };
    let file = folder.path().display().to_string();
    let (built_in, read) = (json(&of("llama-4-scout", 8000)), json(&of(&file, 8000)));
    assert_eq!(built_in["max_model_len"], 8192_u64);
    for name in [
        "e2e_ms",
        "max_model_len",
        "weight_bytes",
        "parameters",
        "kv_blocks",
    ] {
        assert_eq!(built_in[name], read[name], "{name}");
    }
    for model in ["llama-4-scout", &file] {
        let (_, message) = failure_with_answer(&of(model, 8001));
        let cause = "3 because prompt and output exceed the 8,192 tokens of attention_chunk_size";
        assert!(message.contains(cause), "{message}");
        let step = format!("step --tp 4 --model {model}");
        success(&format!("{step} --prefill 2048@6144 --decode 2x8192"));
        for beyond in ["--prefill 2049@6144", "--decode 2x8193"] {
            let message = failure(&format!("{step} {beyond}"));
            let cause = "a request of 8193 tokens exceeds attention_chunk_size 8192";
            assert!(message.starts_with(cause), "{message}");
        }
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
    for name in ["infersim", "blis", "calibrated"] {
        let message = failure(&format!("{step} --latency-model {name}"));
        assert!(message.contains("knows only FFNs with a gate"), "{message}");
    }
}

#[test]
fn a_bad_file_is_refused_in_one_line() {
    for (config, expected) in [
        (&b""[..], "EOF while parsing"),
        (b"\x7fELF\x00\xff", "expected value"),
        (b"[1, 2]", "invalid type: sequence, expected a map"),
        (b"{\"model_type\": \"llama\"", "EOF while parsing an object"),
        (
            b"{\"model_type\": 5}",
            "model_type: expected a text, found 5",
        ),
        (
            b"{\"model_type\": \"llama\", \"hidden_size\": 1e308}",
            "hidden_size: expected a whole number, found 1e+308",
        ),
        (
            b"{\"model_type\": \"llama\", \"hidden_size\": -Infinity}",
            "hidden_size: expected a whole number, found \"-Infinity\"",
        ),
    ] {
        let folder = folder(config);
        let message = failure(&run(folder.path()));
        let file = folder.path().join("config.json").display().to_string();
        assert!(
            message.starts_with(&format!("{file}: {expected}")),
            "{message}"
        );
        assert!(!message.trim_end().contains('\n'), "{message}");
    }
}

#[test]
fn block_scales_that_no_set_has_are_refused_with_the_format_that_some_have() {
    let quantized = LLAMA.replacen(
        '{',
        r#"{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}, "#,
        1,
    );
    let folder = folder(quantized);
    let message = failure(&run(folder.path()));
    let advice = "--dtype fp8 takes its scales as one per tensor, for which there are sets";
    assert!(message.ends_with(advice), "{message}");
    success(&(run(folder.path()) + " --dtype fp8"));
}
