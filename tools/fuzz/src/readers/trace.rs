//! Traces.

use std::io::Cursor;

use rooflut::sim::load::Source;
use rooflut::sim::{Content, SimConfig};
use rooflut_traces::{ColumnNames, Condition, Extent, Format, Input, Measurement, Options, Trace, read};

use super::{check_message, files, is_line};

/// Columns of the corpus, as if no format were known.
const COLUMNS: &str = "arrival=timestamp,prompt=input_length,output=output_length,session=session_id,priority=priority";

/// Reads the first file as the recognised format, as each of them, and by names of columns: those of a second file, with
/// its second line as a condition.
pub(super) fn trace(bytes: &[u8]) {
    let files = files(bytes);
    let words = String::from_utf8_lossy(files.get(1).copied().unwrap_or_default());
    let mut words = words.lines();
    let columns = match words.next().unwrap_or(COLUMNS).parse::<ColumnNames>() {
        Ok(columns) => {
            assert_eq!(columns.to_string().parse::<ColumnNames>().unwrap(), columns);
            Some(columns)
        }
        Err(error) => {
            check_message(&error.to_string());
            None
        }
    };
    let condition = words.next().unwrap_or("Model=a").parse::<Condition>().ok();
    assert_eq!(condition.as_ref().map(|condition| condition.to_string().parse().unwrap()), condition);
    let bytes = files[0];
    match Measurement::detect(bytes) {
        Ok(found) => assert!(found.is_none_or(|kind| !kind.title().is_empty())),
        Err(error) => check_message(&error.to_string()),
    }
    let formats = Format::ALL.map(|format| Options { format: Some(format), ..Options::default() });
    let others = [Options::default(), Options { columns: columns.as_ref(), ..Options::default() }];
    formats.into_iter().chain(others).for_each(|options| read_as(bytes, &options, condition.as_slice()));
}

/// Reads `bytes`, with and without conditions, as a pipe and in part, and checks what comes of it.
fn read_as(bytes: &[u8], options: &Options<'_>, conditions: &[Condition]) {
    let pipe = || Input::once(Cursor::new(bytes.to_vec()), Cursor::new(Vec::new()));
    let part = Extent { requests: Some(2), duration_ns: Some(9_000_000_000) };
    let whole = read(bytes, options);
    let others =
        [read(pipe(), &Options { conditions, ..*options }), read(bytes, &Options { extent: part, ..*options })];
    for trace in [whole].into_iter().chain(others) {
        match trace {
            Ok(trace) => {
                check(&trace);
                match trace.at_speed(2.0) {
                    Ok(fast) => check(&fast),
                    Err(error) => check_message(&error.to_string()),
                }
            }
            Err(error) => {
                check_message(&error.to_string());
                // Lines are those of the text where it is compressed.
                assert!(str::from_utf8(bytes).is_err() || error.line().is_none_or(|line| is_line(bytes, line)));
            }
        }
    }
}

fn check(trace: &Trace) {
    let mut replay = trace.replay().unwrap();
    let mut now_ns = 0;
    let mut taken = 0;
    let mut next_ns = replay.next_arrival_ns();
    while let Some((index, request)) = replay.take() {
        assert!(replay.feeds_back() || next_ns == Some(request.arrival_ns));
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
        next_ns = replay.next_arrival_ns();
    }
    assert_eq!(taken, trace.requests);
    assert!(trace.rate().is_none_or(|rate| rate > 0.0 && rate.is_finite()));
    assert_eq!(replay.finish(), Ok(()));
}
