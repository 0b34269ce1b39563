//! Compressed traces, and such as cannot be read to the end.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use std::io::Write;

use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::support::collect;
use rooflut_traces::{Options, read};

const TEXT: &str = "arrival_ms,prompt_tokens,output_tokens\n0,10,1\n5,20,2\n7,30,3\n";

fn gzip(text: &str) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), flate2::Compression::default());
    file.write_all(text.as_bytes()).unwrap();
    file.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
}

fn message(bytes: Vec<u8>) -> String {
    read(bytes, &Options::default()).unwrap_err().to_string()
}

#[test]
fn compressed_files_are_recognised_by_their_bytes() {
    let plain = collect(TEXT.as_bytes(), &Options::default());
    let (first, second) = TEXT.split_at(50);
    // As pzstd writes it: a frame without data, then one frame after another.
    let skipped = b"\x50\x2a\x4d\x18\x04\0\0\0\x01\x02\x03\x04".to_vec();
    for bytes in [
        gzip(TEXT),
        [gzip(first), gzip(second)].concat(),
        zstd(TEXT),
        [zstd(first), skipped.clone(), zstd(second)].concat(),
        [skipped, zstd(TEXT)].concat(),
    ] {
        assert_eq!(collect(bytes, &Options::default()), plain);
    }
}

#[test]
fn lines_are_those_of_the_decompressed_file() {
    let wrong = TEXT.replace("20", "many");
    let expected = "line 3: prompt_tokens: expected a whole number of tokens, found \"many\"; correct this line";
    assert_eq!(message(gzip(&wrong)), expected);
    assert_eq!(message(zstd(&wrong)), expected);
}

#[test]
fn files_that_are_cut_or_damaged_are_refused() {
    for mut bytes in [gzip(TEXT), zstd(TEXT)] {
        bytes.truncate(bytes.len() - 9);
        let message = message(bytes);
        assert!(message.contains("the file is cut off or damaged: fetch it again"), "{message}");
    }
    let mut bytes = zstd(TEXT);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    assert!(message(bytes).contains("wrong checksum"));
}

#[test]
fn rows_that_never_end_are_not_read_whole() {
    let endless = "a".repeat(3 << 20);
    let unclosed = TEXT.replace("5,20", "\"5,20") + &"8,40,4\n".repeat(1 << 19);
    let object = format!("{{\"timestamp\": 0, \"x\": \"{}", "a".repeat(40 << 20));
    for (text, line) in [(endless, 1), (unclosed, 3), (object, 1)] {
        let message = message(text.into_bytes());
        assert!(message.starts_with(&format!("line {line}: expected one request, found more bytes")), "{message}");
    }
}
