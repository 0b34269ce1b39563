//! The second reading of a file.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails as tests do")]

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, Write};

use rooflut::sim::load::Source;
use rooflut_error::Kind;
use rooflut_traces::{Input, Options, Replay, read};

use crate::support::{collect, shapes, trace};

const HEADER: &str = "arrival_ms,prompt_tokens,output_tokens\n";

fn file(rows: &str) -> File {
    let mut file = tempfile::tempfile().unwrap();
    write!(file, "{HEADER}{rows}").unwrap();
    file
}

fn drain(replay: &mut Replay) -> usize {
    std::iter::from_fn(|| replay.take()).count()
}

#[test]
fn requests_come_in_order_of_time_and_keep_their_place_in_the_file() {
    let arrivals = [7, 3, 3, 9, 0, 9, 4, 12, 11];
    let rows = arrivals.iter().zip(1..);
    let rows: Vec<String> = rows.map(|(ms, tokens)| format!("{ms},{tokens},1\n")).collect();
    let text = format!("{HEADER}{}", rows.concat());
    let mut replay = read(text.as_bytes(), &Options::default()).unwrap().replay().unwrap();
    let order: Vec<usize> = std::iter::from_fn(|| replay.take()).map(|(index, _)| index).collect();
    // Requests of the same time come in the order of the file.
    assert_eq!(order, [4, 1, 2, 6, 0, 3, 5, 8, 7]);
    assert_eq!(replay.finish(), Ok(()));
    let shapes = shapes(&trace(&text).unwrap());
    assert!(shapes.into_iter().map(|(ms, ..)| ms).eq(arrivals));
}

#[test]
fn a_trace_can_be_replayed_more_than_once_and_at_once() {
    let trace = read(file("0,1,1\n1,2,1\n"), &Options::default()).unwrap();
    let (mut one, mut other) = (trace.replay().unwrap(), trace.replay().unwrap());
    assert_eq!(one.take(), other.take());
    assert_eq!(drain(&mut one), drain(&mut other));
}

#[test]
fn a_pipe_is_copied_as_far_as_it_is_read() {
    let text = format!("{HEADER}0,1,1\n1,2,1\n");
    let copy = tempfile::tempfile().unwrap();
    let source = Cursor::new(text.clone().into_bytes());
    let piped = collect(Input::once(source, copy), &Options::default());
    assert_eq!(piped, collect(text.as_bytes(), &Options::default()));
    // An endless one, the first row of which is none.
    let endless = Cursor::new(format!("{HEADER}x,1,1\n")).chain(io::repeat(b'\n'));
    let copy = tempfile::tempfile().unwrap();
    let error = read(Input::once(endless, copy.try_clone().unwrap()), &Options::default());
    assert_eq!(error.unwrap_err().line(), Some(2));
    assert!(copy.metadata().unwrap().len() < 2 << 20);
}

#[test]
fn a_file_that_changes_in_between_is_reported() {
    for (rows, expected) in [("0,1,1\n", "changed"), ("0,1,1\n1,x,1\n", "line 3: prompt_tokens")] {
        let mut file = file("0,1,1\n1,2,1\n");
        let trace = read(file.try_clone().unwrap(), &Options::default()).unwrap();
        file.set_len(0).unwrap();
        file.rewind().unwrap();
        write!(file, "{HEADER}{rows}").unwrap();
        let mut replay = trace.replay().unwrap();
        assert_eq!(drain(&mut replay), 1);
        let error = replay.finish().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_folder_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    // Where it can be opened at all.
    if let Ok(folder) = File::open(folder.path()) {
        let error = read(folder, &Options::default()).unwrap_err();
        assert_eq!(error.kind(), Kind::Io, "{error}");
        assert!(error.to_string().starts_with("cannot read the file: "), "{error}");
    }
}
