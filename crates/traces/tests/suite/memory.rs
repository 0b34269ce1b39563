//! A trace whose requests are in order of time needs no memory for each of them.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Write as _};

use rooflut::sim::load::Source;
use rooflut_traces::{Options, read};

const REQUESTS: usize = 60_000;

/// Returns the peak memory, in bytes, of reading and replaying a file of these lines.
fn most_bytes(header: &str, line: impl Fn(usize, &mut String)) -> u64 {
    let mut text = header.to_owned();
    for index in 0..REQUESTS {
        line(index, &mut text);
    }
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("room");
    let info = allocation_counter::measure(|| replay(file).expect("a trace"));
    info.bytes_max
}

fn replay(file: File) -> io::Result<()> {
    let trace = read(file, &Options::default()).map_err(io::Error::other)?;
    let mut replay = trace.replay().map_err(io::Error::other)?;
    let mut taken = 0;
    while let Some((index, request)) = replay.take() {
        replay.finished(index, &request, request.arrival_ns);
        taken += 1;
    }
    assert_eq!(taken, REQUESTS);
    replay.finish().map_err(io::Error::other)
}

fn mooncake(index: usize, text: &mut String) {
    let ids = [index, index + 1, index + 2];
    writeln!(text, "{{\"timestamp\": {index}, \"input_length\": 1500, \"output_length\": 5, \"hash_ids\": {ids:?}}}")
        .expect("a line");
}

#[test]
fn requests_in_order_of_time_are_not_kept() {
    let own = most_bytes("arrival_ms,prompt_tokens,output_tokens,session_id\n", |index, text| {
        writeln!(text, "{index},100,5,user-{index}").expect("a line")
    });
    let azure = most_bytes("TIMESTAMP,ContextTokens,GeneratedTokens\n", |index, text| {
        let (hours, minutes, seconds) = (index / 3600, index / 60 % 60, index % 60);
        writeln!(text, "2024-05-{:02} {:02}:{minutes:02}:{seconds:02}.123456+00:00,100,5", 10 + hours / 24, hours % 24)
            .expect("a line");
    });
    let mooncake = most_bytes("", mooncake);
    for bytes in [own, azure, mooncake] {
        // The beginning, from which the format is recognised, and buffers: not 56 bytes a request.
        assert!(bytes < 2_500_000, "{bytes}");
    }
}

#[test]
fn requests_out_of_order_by_a_little_are_not_kept_either() {
    let bytes = most_bytes("", |index, text| mooncake(index ^ 63, text));
    assert!(bytes < 2_500_000, "{bytes}");
}
