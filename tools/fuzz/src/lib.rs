//! Properties of every trace and every scenario that can be read.

pub mod corpus;

use rooflut::sim::load::Source;
use rooflut::sim::{Content, SimConfig};
use rooflut_scenario::{Scenario, ScenarioFile};
use rooflut_traces::{ColumnNames, Condition, Format, Options, Trace, read};

/// Columns of the corpus, as if no format were known.
const COLUMNS: &str = "arrival=timestamp,prompt=input_length,output=output_length,session=session_id,priority=priority";

/// Runs the fuzz target `name` on its input.
pub fn target(name: &str, bytes: &[u8]) {
    match name {
        "scenario" => scenario(bytes),
        // As the recognised format, as each of them, and by names of columns.
        "trace" => {
            let columns: ColumnNames = COLUMNS.parse().unwrap();
            let formats = Format::ALL.map(|format| Options { format: Some(format), ..Options::default() });
            let others = [Options::default(), Options { columns: Some(&columns), ..Options::default() }];
            formats.into_iter().chain(others).for_each(|options| trace(bytes, &options));
        }
        _ => panic!("no target {name}"),
    }
}

/// Reads `bytes`, with and without a condition, and checks what comes of it.
fn trace(bytes: &[u8], options: &Options<'_>) {
    let condition = [Condition { column: "Model".to_owned(), value: "a".to_owned() }];
    for conditions in [&[][..], &condition] {
        match read(bytes, &Options { conditions, ..*options }) {
            Ok(trace) => check(&trace),
            Err(error) => {
                let message = error.to_string();
                assert!(!message.contains(char::is_control), "{message:?}");
                assert!(error.line().is_none_or(|line| is_line(bytes, line)));
            }
        }
    }
}

/// Reads `bytes` as a scenario and checks what comes of it.
fn scenario(bytes: &[u8]) {
    match ScenarioFile::read(bytes) {
        Ok(mut file) => {
            let keys: Vec<(&str, u64)> = file.keys().collect();
            assert!(keys.is_sorted_by_key(|(_, line)| *line));
            assert!(keys.iter().all(|(_, line)| is_line(bytes, *line)));
            // A replacement of the whole text leaves nothing.
            let all = file.scenario().clone();
            let replaced = file.remove_replaced(&all).unwrap();
            assert!(replaced.iter().eq(keys.iter().map(|(key, _)| key)));
            assert_eq!(file.scenario(), &Scenario::default());
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!message.contains(char::is_control), "{message:?}");
            assert!(error.line().is_some_and(|line| is_line(bytes, line)));
        }
    }
}

/// Whether there is a line of this number.
fn is_line(bytes: &[u8], line: u64) -> bool {
    let ends = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
    (1..=1 + ends.count() as u64).contains(&line)
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
