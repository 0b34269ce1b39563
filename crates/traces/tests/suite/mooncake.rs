//! Mooncake traces.

use crate::support::{shapes, trace};
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
    assert_eq!(shapes(&trace), [(0, 1500, 52), (3000, 600, 26), (0, 0, 1), (1, 700, 7)]);
}

#[test]
fn other_ways_to_write_the_same_change_nothing() {
    let plain = trace(SAMPLE);
    let lines: Vec<&str> = SAMPLE.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(trace(&format!("[{}]", lines.join(",\n"))), plain);
    assert_eq!(trace(&SAMPLE.replace(", ", ",\n  ")), plain);
    assert_eq!(trace(&SAMPLE.replace("timestamp", r"time\u0073tamp")), plain);
}
