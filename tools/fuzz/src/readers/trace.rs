//! Traces.

use rooflut::sim::load::Source;
use rooflut::sim::{Content, SimConfig};
use rooflut_traces::{ColumnNames, Condition, Format, Options, Trace, read};

use super::{check_message, is_line};

/// Columns of the corpus, as if no format were known.
const COLUMNS: &str = "arrival=timestamp,prompt=input_length,output=output_length,session=session_id,priority=priority";

/// Reads `bytes` as the recognised format, as each of them, and by names of columns.
pub(super) fn trace(bytes: &[u8]) {
    let columns: ColumnNames = COLUMNS.parse().unwrap();
    let formats = Format::ALL.map(|format| Options { format: Some(format), ..Options::default() });
    let others = [Options::default(), Options { columns: Some(&columns), ..Options::default() }];
    formats.into_iter().chain(others).for_each(|options| read_as(bytes, &options));
}

/// Reads `bytes`, with and without a condition, and checks what comes of it.
fn read_as(bytes: &[u8], options: &Options<'_>) {
    let condition = [Condition { column: "Model".to_owned(), value: "a".to_owned() }];
    for conditions in [&[][..], &condition] {
        match read(bytes, &Options { conditions, ..*options }) {
            Ok(trace) => check(&trace),
            Err(error) => {
                check_message(&error.to_string());
                assert!(error.line().is_none_or(|line| is_line(bytes, line)));
            }
        }
    }
}

fn check(trace: &Trace) {
    let mut replay = trace.replay().unwrap();
    let mut now_ns = 0;
    let mut taken = 0;
    while let Some((index, request)) = replay.take() {
        assert!(now_ns <= request.arrival_ns && request.arrival_ns <= SimConfig::LAST_ARRIVAL_NS);
        now_ns = request.arrival_ns;
        taken += 1;
        assert!(request.cached_prompt_tokens <= request.prompt_tokens);
        let (ids, _) = replay.trace_blocks(&request);
        match request.content {
            Content::TraceBlocks { count, .. } => assert_eq!(count as usize, ids.len()),
            Content::Texts { prefix_tokens, .. } => assert!(prefix_tokens <= request.prompt_tokens),
            _ => {}
        }
        replay.finished(index, &request, now_ns);
    }
    assert_eq!(taken, trace.requests);
    assert_eq!(replay.finish(), Ok(()));
}
