//! Formats are recognised by their content.

use crate::support::{message, named};
use rooflut_traces::{Format, Options, read};

fn detect(text: &str) -> Result<Format, String> {
    named(Format::detect(text.as_bytes()))
}

#[test]
fn each_format_is_known_by_its_columns_or_keys() {
    for (text, format) in [
        ("arrival_ms,prompt_tokens,output_tokens\n", Format::Own),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n", Format::Azure),
        (
            "\u{feff}\"TIMESTAMP\", ContextTokens ,Other\r\n",
            Format::Azure,
        ),
        ("Timestamp,Model,Request tokens\n", Format::BurstGpt),
        (
            "arrived_at,num_prefill_tokens,num_decode_tokens\n",
            Format::Vidur,
        ),
        (
            "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n",
            Format::Splitwise,
        ),
        (
            r#"{"chat_id": 1, "timestamp": 1, "input_length": 2, "type": "text"}"#,
            Format::QwenBailian,
        ),
        // The result of a benchmark may be one long line, of which only the beginning is looked at.
        (
            r#"{"request_throughput": 1, "input_lens": [5, 7, "#,
            Format::Vllm,
        ),
        (r#"{"timestamp": 1, "input_length": 2}"#, Format::Mooncake),
        (
            r#"{"request_throughput": 1, "total_input_tokens": 2}"#,
            Format::Vllm,
        ),
        (r#"[{"start_time": 1, "info": {}}"#, Format::InferencePerf),
        // Columns of no format are read as rooflut's own, whose messages list the expected ones.
        ("some,other,columns\n", Format::Own),
        ("", Format::Own),
        ("\u{feff}", Format::Own),
    ] {
        assert_eq!(detect(text), Ok(format), "{text}");
    }
}

#[test]
fn names_pick_formats() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    assert!("Azure".parse::<Format>().is_err());
}

#[test]
fn json_of_no_format_is_refused() {
    let expected = "; expected those of mooncake (timestamp, input_length, output_length[, hash_ids]), \
                    qwen-bailian (timestamp, input_length, output_length, chat_id[, hash_ids]), \
                    vllm (input_lens, output_lens[, start_times]), inference-perf (start_time, info, error)";
    assert_eq!(
        message("\n{\"a\": 1, \"b\": [2]}"),
        format!(": keys of no known format: a, b{expected}")
    );
    for nothing in ["[]", "[5]", "{}"] {
        assert_eq!(
            message(nothing),
            format!(": keys of no known format: none{expected}")
        );
    }
    assert_eq!(
        message("{\n\"a\": }"),
        ":2: expected other JSON: expected value; correct it"
    );
    assert!(message(&"[".repeat(100_000)).starts_with(":1: expected other JSON: EOF"));
}

#[test]
fn files_that_are_no_traces_are_named_with_what_to_bring() {
    for (text, title, advice) in [
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            "a Git LFS pointer",
            "git lfs pull",
        ),
        ("BZh91AY&SY", "a bzip2 file", "bzcat"),
        ("PAR1\u{15}\u{4}", "a Parquet file", "CSV"),
        (
            "0,12.5,1.1,Gamma,0.8,0.1\n600,13,1,Weibull,1,2\n",
            "ServeGen",
            "sample requests",
        ),
        (
            r#"{"0": {"input_tokens": "{}"}, "600": {}}"#,
            "ServeGen",
            "sample requests",
        ),
        (
            r#"[{"id": "x", "conversations": [{"from": "human"}]}]"#,
            "ShareGPT",
            "benchmark",
        ),
        (
            r#"{"args": {}, "benchmarks": [{"requests": {}}]}"#,
            "guidellm",
            "arrival_ms",
        ),
        (
            r#"{"service_kind": "openai", "experiments": []}"#,
            "genai-perf",
            "arrival_ms",
        ),
        (
            r#"{"metadata": {"session_num": 0}, "metrics": {}}"#,
            "AIPerf",
            "arrival_ms",
        ),
        (
            r#"{"request_throughput": {"avg": 1.5}, "input_config": {}}"#,
            "summary of genai-perf or AIPerf",
            "profile_export.json",
        ),
        (
            "Metric,avg,min\nTime To First Token (ms),1,1\n",
            "summary of genai-perf",
            "profile_export.json",
        ),
        (
            "Run Info,Run Info,Benchmark\nId,Name,Type\n",
            "guidellm",
            "arrival_ms",
        ),
        (r#"{"resourceSpans": []}"#, "OpenTelemetry", "arrival_ms"),
    ] {
        let message = message(text);
        assert!(message.contains(title), "{message}");
        assert!(message.contains(advice), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let utf_16: Vec<u8> = "\u{feff}arrival_ms"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let error = read(utf_16, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("iconv"));
}
