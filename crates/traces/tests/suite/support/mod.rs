//! Reads made-up files.
#![allow(dead_code, reason = "each test crate uses a part")]
#![allow(clippy::expect_used, reason = "a helper of tests fails as tests do")]

use rooflut::sim::load::Source;
use rooflut::sim::{Content, Request};
use rooflut_error::Error;
use rooflut_traces::{ArrivalSource, Condition, Format, Input, LeftOut, Options, read};

/// A trace with its requests, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trace {
    pub(crate) format: Format,
    pub(crate) arrivals: ArrivalSource,
    pub(crate) left_out: Vec<(LeftOut, u64)>,
    pub(crate) ignored: Vec<String>,
    pub(crate) with_images: u64,
    pub(crate) requests: Vec<Request>,
    /// Ids of the blocks of each request, and the tokens per id.
    pub(crate) block_ids: Vec<(Vec<u64>, u32)>,
}

/// Reads a trace and all of its requests.
pub(crate) fn collect(input: impl Into<Input>, options: &Options<'_>) -> Result<Trace, Error> {
    let trace = read(input, options)?;
    let mut replay = trace.replay()?;
    let mut taken = Vec::new();
    let mut now_ns = 0;
    while let Some(next_ns) = replay.next_arrival_ns() {
        let (index, request) = replay.take().expect("a request that was announced");
        assert_eq!(request.arrival_ns, next_ns);
        assert!(next_ns >= now_ns, "arrivals go back in time");
        now_ns = next_ns;
        let (ids, tokens) = replay.trace_blocks(&request);
        taken.push((index, request, (ids.to_vec(), tokens)));
        // Each request takes a second.
        replay.finished(index, &request, now_ns + 1_000_000_000);
    }
    replay.finish()?;
    taken.sort_by_key(|(index, ..)| *index);
    assert!(taken.iter().map(|(index, ..)| *index).eq(0..trace.requests as usize));
    let with_ids = |request: Request| match request.content {
        Content::TraceBlocks { count, .. } => request.with_content(Content::TraceBlocks { first: 0, count }),
        _ => request,
    };
    Ok(Trace {
        format: trace.format,
        arrivals: trace.arrivals,
        left_out: trace.left_out,
        ignored: trace.ignored,
        with_images: trace.with_images,
        requests: taken.iter().map(|(_, request, _)| with_ids(*request)).collect(),
        block_ids: taken.into_iter().map(|(.., ids)| ids).collect(),
    })
}

/// Returns the requests of a trace, in the order of the file.
pub(crate) fn replayed(trace: &rooflut_traces::Trace) -> Vec<Request> {
    let mut replay = trace.replay().expect("a trace");
    let mut taken: Vec<(usize, Request)> = std::iter::from_fn(|| replay.take()).collect();
    replay.finish().expect("a trace");
    taken.sort_by_key(|(index, _)| *index);
    taken.into_iter().map(|(_, request)| request).collect()
}

/// Reads a file; messages are as they follow the name of the file.
pub(crate) fn trace(text: &str) -> Result<Trace, String> {
    named(collect(text.as_bytes(), &Options::default()))
}

/// Reads a file of this format.
pub(crate) fn trace_as(format: Format, text: &str) -> Result<Trace, String> {
    let options = Options { format: Some(format), ..Options::default() };
    named(collect(text.as_bytes(), &options))
}

/// Returns the requests of the rows that meet `COLUMN=VALUE`.
pub(crate) fn requests(text: &str, conditions: &[&str]) -> Result<Vec<Request>, String> {
    let conditions = conditions.iter().map(|condition| {
        let (column, value) = condition.split_once('=').expect("COLUMN=VALUE");
        Condition { column: column.to_owned(), value: value.to_owned() }
    });
    let conditions: Vec<Condition> = conditions.collect();
    let options = Options { conditions: &conditions, ..Options::default() };
    named(collect(text.as_bytes(), &options)).map(|trace| trace.requests)
}

/// Returns the message of a file that is rejected.
pub(crate) fn message(text: &str) -> String {
    trace(text).expect_err("an error")
}

/// Returns the message of an error.
pub(crate) fn named<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// Returns arrival in ms, prompt and output tokens of each request.
pub(crate) fn shapes(trace: &Trace) -> Vec<(u64, u32, u32)> {
    let shape = |request: &Request| {
        assert_eq!(request.arrival_ns % 1_000_000, 0, "{request:?}");
        let arrival_ms = request.arrival_ns / 1_000_000;
        (arrival_ms, request.prompt_tokens, request.output_tokens)
    };
    trace.requests.iter().map(shape).collect()
}
