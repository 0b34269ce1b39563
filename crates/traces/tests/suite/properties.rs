//! Properties of any bytes.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use proptest::prelude::*;
use rooflut::sim::{Content, SimConfig};
use rooflut_traces::{ColumnNames, Format, Options};

use crate::support::{Trace, collect};

fn check(trace: &Trace) {
    assert!(!trace.requests.is_empty());
    for (request, (ids, _)) in trace.requests.iter().zip(&trace.block_ids) {
        assert!(request.arrival_ns <= SimConfig::LAST_ARRIVAL_NS);
        assert!(request.cached_prompt_tokens <= request.prompt_tokens);
        match request.content {
            Content::TraceBlocks { count, .. } => assert_eq!(count as usize, ids.len()),
            Content::Texts { prefix_tokens, .. } => assert!(prefix_tokens <= request.prompt_tokens),
            _ => {}
        }
    }
}

/// Reads the bytes as every format, as the recognised one, and by names.
fn check_all(bytes: &[u8]) {
    let names = "arrival=timestamp,prompt=input_length,output=output_length,cached=7,session=session_id";
    let columns: ColumnNames = names.parse().unwrap();
    let formats = Format::ALL.map(|format| Options { format: Some(format), ..Options::default() });
    let others = [Options::default(), Options { columns: Some(&columns), ..Options::default() }];
    for options in formats.into_iter().chain(others) {
        match collect(bytes, &options) {
            Ok(trace) => check(&trace),
            Err(error) => {
                let message = error.to_string();
                assert!(!message.contains(char::is_control), "{message}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_all(&bytes);
    }

    #[test]
    fn any_text_of_these_words_is_read_or_refused(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60)
    ) {
        check_all(words.concat().as_bytes());
    }

    #[test]
    fn every_row_of_plausible_numbers_is_a_request(
        rows in proptest::collection::vec((0_u64..1_000_000, 0_u32.., 0_u32..), 1..50)
    ) {
        let mut own = "arrival_ms,prompt_tokens,output_tokens\n".to_owned();
        let mut lines = String::new();
        for (ms, prompt, output) in &rows {
            own.push_str(&format!("{ms},{prompt},{output}\n"));
            lines.push_str(&format!(
                "{{\"timestamp\": {ms}, \"input_length\": {prompt}, \"output_length\": {output}}}\n"
            ));
        }
        let earliest = rows.iter().map(|row| row.0).min().unwrap_or_default();
        let shifted: Vec<(u64, u32, u32)> = rows.iter().map(|row| (row.0 - earliest, row.1, row.2)).collect();
        prop_assert_eq!(crate::support::shapes(&crate::support::trace(&own).unwrap()), rows);
        prop_assert_eq!(crate::support::shapes(&crate::support::trace(&lines).unwrap()), shifted);
    }
}

const WORDS: &[&str] = &[
    "arrival_ms",
    "prompt_tokens",
    "output_tokens",
    "prefix_id",
    "TIMESTAMP",
    "ContextTokens",
    "GeneratedTokens",
    "Timestamp",
    "Request tokens",
    "Response tokens",
    "timestamp",
    "input_length",
    "output_length",
    "hash_ids",
    "session_id",
    "delay",
    "chat_id",
    "arrived_at",
    "num_prefill_tokens",
    "num_decode_tokens",
    "NumImages",
    "input_lens",
    "output_lens",
    "start_times",
    "request_rate",
    "start_time",
    "info",
    "error",
    "2024-05-10 00:00:00",
    "0",
    "7",
    "1e300",
    "-1",
    "null",
    "\"",
    "\"",
    ",",
    ",",
    "\n",
    "\n",
    "\r",
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    "\u{feff}",
    "é",
    "\\",
];
