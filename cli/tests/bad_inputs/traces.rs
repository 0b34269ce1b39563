//! Traces.
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use std::process::Command;

use crate::bounded::{Expect, Place, check_all};
use Expect::{Read, Refused};

/// The columns that are needed.
const HEADER: &str = "arrival_ms,prompt_tokens,output_tokens";

#[test]
fn a_trace_is_read_right_or_refused_in_one_line() {
    let rows = |rows: &str| format!("{HEADER}\n{rows}").into_bytes();
    let utf16: Vec<u8> = HEADER.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: Vec<(&str, Vec<u8>, Expect)> = vec![
        ("plain", rows("0,5,5\n9,5,5\n"), Read),
        ("BOM", [b"\xef\xbb\xbf", &*rows("0,5,5\n")].concat(), Read),
        (
            "CRLF",
            rows("0,5,5\n")
                .iter()
                .flat_map(|b| match b {
                    b'\n' => vec![b'\r', b'\n'],
                    b => vec![*b],
                })
                .collect(),
            Read,
        ),
        ("CR", format!("{HEADER}\r0,5,5\r").into_bytes(), Read),
        ("no last line break", rows("0,5,5"), Read),
        ("empty lines", rows("\n0,5,5\n\n\n"), Read),
        ("unsorted", rows("9,5,5\n0,5,5\n"), Read),
        ("quoted", rows("\"0\",\"5\",\"5\"\n"), Read),
        ("spaces", rows(" 0 , 5 , 5 \n"), Read),
        (
            "columns in another order",
            b"output_tokens,prompt_tokens,arrival_ms\n5,5,0\n".to_vec(),
            Read,
        ),
        ("empty", Vec::new(), Refused("file is empty")),
        ("blank", b"\n\n \n".to_vec(), Refused("file is empty")),
        ("header only", rows(""), Refused("no rows")),
        (
            "BOM only",
            b"\xef\xbb\xbf".to_vec(),
            Refused("file is empty"),
        ),
        (
            "binary",
            (0..=255).collect(),
            Refused(":1: no column arrival_ms"),
        ),
        ("zeros", vec![0; 4096], Refused(":1: no column arrival_ms")),
        (
            "random bytes in a cell",
            [rows("0,5,"), vec![0xff, 0xfe, b'\n']].concat(),
            Refused(":2: expected UTF-8 text"),
        ),
        (
            "NUL in a cell",
            rows("0,5\0,5\n"),
            Refused(":2: prompt_tokens: expected a whole number of tokens, found \"5\\u{0}\""),
        ),
        (
            "UTF-16",
            [vec![0xff, 0xfe], utf16].concat(),
            Refused("UTF-"),
        ),
        (
            "1e308 ms",
            rows("1e308,5,5\n"),
            Refused(":2: arrival_ms: expected at most"),
        ),
        (
            "1e999 ms",
            rows("1e999,5,5\n"),
            Refused(":2: arrival_ms: expected milliseconds"),
        ),
        (
            "negative ms",
            rows("-1,5,5\n"),
            Refused(":2: arrival_ms: expected milliseconds, 0 or more, found \"-1\""),
        ),
        (
            "NaN ms",
            rows("NaN,5,5\n"),
            Refused(":2: arrival_ms: expected milliseconds"),
        ),
        (
            "inf ms",
            rows("inf,5,5\n"),
            Refused(":2: arrival_ms: expected milliseconds"),
        ),
        (
            "no ms",
            rows(",5,5\n"),
            Refused(":2: arrival_ms: expected milliseconds, 0 or more, found \"\""),
        ),
        ("text for ms", rows("soon,5,5\n"), Refused("found \"soon\"")),
        ("Unicode digits", rows("٣,5,5\n"), Refused("found \"٣\"")),
        (
            "1e308 tokens",
            rows("0,1e308,5\n"),
            Refused(":2: prompt_tokens: expected a whole number of tokens, found \"1e308\""),
        ),
        ("negative tokens", rows("0,-5,5\n"), Refused("found \"-5\"")),
        (
            "half a token",
            rows("0,5,5.5\n"),
            Refused(":2: output_tokens: expected a whole number of tokens, found \"5.5\""),
        ),
        (
            "2^32 tokens",
            rows("0,4294967296,5\n"),
            Refused("found \"4294967296\""),
        ),
        (
            "no tokens",
            rows("0,5,\n"),
            Refused(":2: output_tokens: expected a whole number of tokens, found \"\""),
        ),
        (
            "zero tokens",
            rows("0,0,5\n"),
            Refused("1 because the prompt is empty"),
        ),
        (
            "too many cells",
            rows("0,5,5,5,5\n"),
            Refused(":2: expected 3 fields, found 5"),
        ),
        (
            "too few cells",
            rows("0,5\n"),
            Refused(":2: expected 3 fields, found 2"),
        ),
        (
            "a missing column",
            b"arrival_ms,prompt_tokens\n0,5\n".to_vec(),
            Refused(":1: no column output_tokens"),
        ),
        (
            "a misspelt column",
            b"arrival_ms,promt_tokens,output_tokens\n0,5,5\n".to_vec(),
            Refused(":1: no column prompt_tokens"),
        ),
        (
            "a column twice",
            b"arrival_ms,prompt_tokens,output_tokens,arrival_ms\n0,5,5,1\n".to_vec(),
            Refused(":1: expected one column arrival_ms, found several"),
        ),
        (
            "no header",
            b"0,5,5\n1,5,5\n".to_vec(),
            Refused(":1: expected one column 5"),
        ),
        (
            "semicolons",
            b"arrival_ms;prompt_tokens;output_tokens\n0;5;5\n".to_vec(),
            Refused(":1: expected columns separated by commas, found semicolons"),
        ),
        (
            "tabs",
            b"arrival_ms\tprompt_tokens\toutput_tokens\n0\t5\t5\n".to_vec(),
            Refused("found tabs"),
        ),
        ("one line of 8 MB", vec![b'x'; 8 << 20], Refused(":1: ")),
        (
            "a cell of 8 MB",
            rows(&"9".repeat(8 << 20)),
            Refused(":2: expected "),
        ),
        (
            "a million columns",
            rows(&",".repeat(1 << 20)),
            Refused(":2: expected 3 fields, found 1048577"),
        ),
        (
            "HTML",
            b"<!DOCTYPE html><html></html>\n".to_vec(),
            Refused(":1: no column arrival_ms"),
        ),
        (
            "JSON null",
            b"null".to_vec(),
            Refused(":1: no column arrival_ms"),
        ),
        (
            "JSON number",
            b"1".to_vec(),
            Refused(":1: no column arrival_ms"),
        ),
        (
            "JSON list",
            b"[]".to_vec(),
            Refused("keys of no known format"),
        ),
        (
            "JSON object",
            b"{}".to_vec(),
            Refused("keys of no known format"),
        ),
        (
            "half an object",
            br#"{"timestamp": 0, "input_length": 5"#.to_vec(),
            Refused(":1: expected other JSON"),
        ),
        (
            "100,000 brackets",
            vec![b'['; 100_000],
            Refused(":1: expected other JSON"),
        ),
        (
            "100,000 braces",
            br#"{"a":"#.repeat(100_000),
            Refused("expected "),
        ),
        (
            "Mooncake without tokens",
            br#"{"timestamp": 0, "input_length": 5, "hash_ids": []}"#.to_vec(),
            Refused(":1: no key output_length"),
        ),
        (
            "Mooncake with -1 tokens",
            br#"{"timestamp": 0, "input_length": -5, "output_length": 5, "hash_ids": []}"#.to_vec(),
            Refused(":1: input_length: expected a whole number of tokens, found \"-5\""),
        ),
        (
            "Mooncake with 1e308 ms",
            br#"{"timestamp": 1e308, "input_length": 5, "output_length": 5, "hash_ids": []}"#
                .to_vec(),
            Refused(":1: timestamp: expected at most"),
        ),
        (
            "Mooncake with NaN",
            br#"{"timestamp": NaN, "input_length": 5, "output_length": 5, "hash_ids": []}"#
                .to_vec(),
            Refused(":1: expected other JSON"),
        ),
        (
            "Azure with 99 months",
            b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-99-16 18:17:03.9799600,4808,10\n"
                .to_vec(),
            Refused(":2: TIMESTAMP: expected a date and time"),
        ),
    ];
    check_all(&cases, |(name, bytes, expect)| {
        let place = Place::new();
        let path = place.file("trace", bytes);
        let complaint = place.complaint(&["run", "--trace", &path], *expect)?;
        Some(format!("{name}: {complaint}"))
    });
}

#[test]
fn a_path_without_a_trace_is_refused() {
    let place = Place::new();
    place.file("file", b"");
    let made = Command::new("mkfifo").arg(place.path("pipe")).status();
    assert!(made.expect("mkfifo starts").success());
    let cases = [
        ("pipe", "cannot read pipe: no program writes to this pipe"),
        ("no-such", "cannot read no-such: No such file"),
        (".", "Is a directory"),
        ("file/trace", "cannot read file/trace: Not a directory"),
        ("/dev/null", "file is empty"),
    ];
    check_all(&cases, |(path, words)| {
        place.complaint(&["run", "--trace", path], Refused(words))
    });
}

#[test]
fn no_command_waits_for_a_pipe_without_a_writer() {
    let place = Place::new();
    let made = Command::new("mkfifo").arg(place.path("pipe")).status();
    assert!(made.expect("mkfifo starts").success());
    let waits = "no program writes to this pipe";
    let copy = "found a pipe or a device; copy it to a file";
    let cases = [
        (&["run", "--scenario", "pipe"][..], waits),
        (&["run", "--model", "./pipe"], waits),
        (&["run", "--prompt", "file:pipe"], waits),
        (&["validate", "pipe"], waits),
        (&["run", "--tables", "pipe"], copy),
        (&["tables", "check", "pipe"], copy),
    ];
    check_all(&cases, |(arguments, words)| {
        place.complaint(arguments, Refused(words))
    });
}
