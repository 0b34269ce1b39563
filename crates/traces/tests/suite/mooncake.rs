//! Mooncake traces.

use crate::support::{message, requests, shapes, trace, trace_as};
use rooflut::sim::Content;
use rooflut_traces::Format;

pub(crate) const SAMPLE: &str = r#"{"timestamp": 27000, "input_length": 1500, "output_length": 52, "hash_ids": [46, 47, 18446744073709551615]}
{"timestamp": 30000, "input_length": 600, "output_length": 26, "hash_ids": [46, 2353]}

{"timestamp": 27000.5, "input_length": 0, "output_length": 1, "hash_ids": []}
{"output_length": 7, "input_length": 700, "timestamp": 27001, "other": {"a": [1]}}
"#;

#[test]
fn ids_stand_for_blocks_of_512_tokens() {
    let trace = trace(SAMPLE).unwrap();
    assert_eq!(trace.format, Format::Mooncake);
    let ids = [&[46, 47, u64::MAX][..], &[46, 2353], &[], &[]];
    assert_eq!(trace.block_ids, ids.map(|ids| (ids.to_vec(), 512)));
    let contents = trace.requests.iter().map(|request| request.content);
    let listed = |count| Content::TraceBlocks { first: 0, count };
    assert!(contents.eq([listed(3), listed(2), Content::Unique, Content::Unique]));
    assert_eq!(trace.ignored, [""; 0]);
}

#[test]
fn milliseconds_count_from_the_earliest() {
    let trace = trace(&SAMPLE.replace("27000.5", "27000")).unwrap();
    assert_eq!(
        shapes(&trace),
        [(0, 1500, 52), (3000, 600, 26), (0, 0, 1), (1, 700, 7)]
    );
}

#[test]
fn other_ways_to_write_the_same_change_nothing() {
    let plain = trace(SAMPLE);
    let lines: Vec<&str> = SAMPLE.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(trace(&format!("[{}]", lines.join(",\n"))), plain);
    assert_eq!(trace(&SAMPLE.replace(", ", ",\n  ")), plain);
    assert_eq!(
        trace(&SAMPLE.replace("timestamp", r"time\u0073tamp")),
        plain
    );
}

#[test]
fn mistakes_are_named() {
    let refused = |from: &str, to: &str| message(&SAMPLE.replacen(from, to, 1));
    assert_eq!(
        refused("30000", "\"soon\""),
        ":2: timestamp: expected milliseconds, 0 or more, found \"\"soon\"\"; correct this line"
    );
    assert_eq!(
        refused("30000", "1e300"),
        ":2: timestamp: expected at most 9223372036854 milliseconds, found \"1e300\"; correct this line"
    );
    assert_eq!(
        refused(" 700", " -1"),
        ":5: input_length: expected a whole number of tokens, found \"-1\"; correct this line"
    );
    assert_eq!(
        refused("2353", "2.5"),
        ":2: hash_ids[1]: expected a whole number, 0 or more, found \"2.5\"; correct this line"
    );
    assert_eq!(
        refused("600", "512"),
        ":2: hash_ids: expected at most 1 of 512 tokens each (input_length 512), found \"2\"; correct this line"
    );
    assert_eq!(
        refused("[46, 2353]", "46"),
        ":2: expected other JSON: invalid type: integer `46`, expected a list; correct it"
    );
    assert_eq!(
        refused("\"output_length\": 26", "\"output\": 26"),
        ":2: no key output_length; rename output?"
    );
    assert_eq!(
        refused("\"timestamp\": 30000, ", ""),
        ":2: no key timestamp, found input_length, output_length, hash_ids; expected timestamp, \
         input_length, output_length[, hash_ids]"
    );
    assert_eq!(
        refused("\"timestamp\": 30000", "\"timestamp\": null"),
        ":2: no key timestamp, found timestamp, input_length, output_length, hash_ids; expected \
         timestamp, input_length, output_length[, hash_ids]"
    );
    assert_eq!(
        refused("\"input_length\": 600", "\"timestamp\": 600"),
        ":2: expected other JSON: duplicate field `timestamp`; correct it"
    );
}

#[test]
fn broken_json_is_named_by_its_line() {
    let refused = |text: &str| trace_as(Format::Mooncake, text).unwrap_err();
    let cut = SAMPLE.trim_end().trim_end_matches('}');
    assert_eq!(
        refused(cut),
        ":5: expected other JSON: EOF while parsing an object; correct it"
    );
    assert_eq!(
        refused(&format!("{SAMPLE}7")),
        ":6: record: expected an object, found \"7\"; correct this line"
    );
    assert_eq!(
        refused("\n[{]"),
        ":2: expected other JSON: key must be a string; correct it"
    );
    assert_eq!(
        refused("a,b\n1,2\n"),
        ":1: expected JSON, found \"a,b\"; name another --trace-format, or none"
    );
    let record = r#"{"timestamp": 1, "input_length": 2, "output_length": 3}"#;
    for (list, cause) in [
        (format!("[{record}"), "EOF while parsing a list"),
        (format!("[{record},"), "EOF while parsing a value"),
        (format!("[{record},]"), "trailing comma"),
        (format!("[{record} {record}]"), "expected `,` or `]`"),
        (format!("[{record}] 7"), "trailing characters"),
    ] {
        assert_eq!(
            refused(&list),
            format!(":1: expected other JSON: {cause}; correct it")
        );
    }
    for nothing in ["", "\n", "[]"] {
        assert_eq!(
            refused(nothing),
            ": no requests; expected one JSON object per request, with timestamp, input_length, \
             output_length[, hash_ids]"
        );
    }
}

#[test]
fn conditions_are_for_csv() {
    assert_eq!(
        requests(SAMPLE, &["timestamp=30000"]).unwrap_err(),
        ": --where selects rows of CSV, found JSON (mooncake); leave it out"
    );
}
