//! A trace needs its records and little else.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fmt::Write;
use std::mem::size_of;

use rooflut::sim::Request;
use rooflut_traces::{Options, read};

const REQUESTS: usize = 100_000;

/// Most bytes held while `text` is read, per byte of its records and ids.
fn overhead(text: &str) -> f64 {
    let mut needed = 0;
    let info = allocation_counter::measure(|| {
        let trace = read(text.as_bytes(), &Options::default()).expect("a trace");
        assert_eq!(trace.requests.len(), REQUESTS);
        needed = size_of::<Request>() * REQUESTS + size_of::<u64>() * trace.block_ids.len();
    });
    info.bytes_max as f64 / needed as f64
}

fn lines(header: &str, line: impl Fn(usize, &mut String)) -> String {
    let mut text = header.to_owned();
    for index in 0..REQUESTS {
        line(index, &mut text);
    }
    text
}

#[test]
fn csv_needs_its_records() {
    let own = lines(
        "arrival_ms,prompt_tokens,output_tokens,session_id\n",
        |index, text| {
            writeln!(text, "{index},100,5,user-{index}").expect("a line");
        },
    );
    let azure = lines(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n",
        |index, text| {
            let (minutes, seconds) = (index / 60 % 60, index % 60);
            writeln!(
                text,
                "2024-05-10 00:{minutes:02}:{seconds:02}.123456+00:00,100,5"
            )
            .expect("a line");
        },
    );
    for text in [own, azure] {
        let overhead = overhead(&text);
        assert!(overhead < 1.05, "{overhead}");
    }
}

#[test]
fn json_lines_need_their_records_and_ids() {
    let mooncake = lines("", |index, text| {
        let ids = [index, index + 1, index + 2];
        writeln!(
            text,
            "{{\"timestamp\": {index}, \"input_length\": 1500, \"output_length\": 5, \"hash_ids\": {ids:?}}}"
        )
        .expect("a line");
    });
    // The list of ids doubles as it grows.
    let overhead = overhead(&mooncake);
    assert!(overhead < 2.0, "{overhead}");
}
