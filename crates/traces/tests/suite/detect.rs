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
        ("\u{feff}\"TIMESTAMP\", ContextTokens ,Other\r\n", Format::Azure),
        ("Timestamp,Model,Request tokens\n", Format::BurstGpt),
        ("arrived_at,num_prefill_tokens,num_decode_tokens\n", Format::Vidur),
        (
            "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n",
            Format::Splitwise,
        ),
        (r#"{"chat_id": 1, "timestamp": 1, "input_length": 2, "type": "text"}"#, Format::QwenBailian),
        // The result of a benchmark may be one long line, of which only the beginning is looked at.
        (r#"{"request_throughput": 1, "input_lens": [5, 7, "#, Format::Vllm),
        (r#"{"timestamp": 1, "input_length": 2}"#, Format::Mooncake),
        (r#"{"request_throughput": 1, "total_input_tokens": 2}"#, Format::Vllm),
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
fn bytes_of_no_text_and_endless_lists_are_refused() {
    let utf_16 = "\u{feff}arrival_ms".encode_utf16();
    let utf_16: Vec<u8> = utf_16.flat_map(u16::to_le_bytes).collect();
    let error = read(utf_16, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("iconv"));
    assert!(message(&"[".repeat(100_000)).starts_with("line 1: invalid JSON: EOF"));
}
