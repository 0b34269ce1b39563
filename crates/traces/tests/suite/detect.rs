//! Formats are recognised by their content.

use crate::support::{message, named};
use rooflut_traces::Format;

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
