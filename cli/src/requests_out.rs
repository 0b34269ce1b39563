//! One line per request, in a file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use rooflut::sim::{Outcome, Rejection, RequestRecord};
use rooflut::units::Seconds;

use crate::args::RunArgs;
use crate::error::Error;
use crate::workload::LengthsArg;

const HEADER: &str = "request,arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens,outcome,\
                      queue_ms,ttft_ms,tpot_ms,e2e_ms,preemptions";

/// A file to be written beside its destination and moved there when it is whole. Dropped before
/// that, it leaves nothing behind.
pub(crate) struct PendingFile {
    file: BufWriter<File>,
    temporary: PathBuf,
    destination: PathBuf,
    named: PathBuf,
}

impl PendingFile {
    /// Opens a file for `--requests-out`, if it was given, so that what cannot be written is refused
    /// before any work.
    pub(crate) fn asked(args: &RunArgs) -> Result<Option<PendingFile>, Error> {
        let path = args.requests_out.as_deref();
        let opened = path.map(|path| PendingFile::create(path, &inputs(args)));
        opened.transpose()
    }

    /// Opens a file beside `path`. `inputs` must not be replaced.
    fn create(path: &Path, inputs: &[(&Path, &'static str)]) -> Result<PendingFile, Error> {
        let refuse = |why| Error::NotReplaceable {
            path: path.to_owned(),
            why,
        };
        // A link is followed, so that it stays one.
        let destination = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(name) = destination.file_name() else {
            return Err(refuse("is no file name"));
        };
        if destination.exists() && !destination.is_file() {
            return Err(refuse("is not a regular file"));
        }
        let is_destination =
            |input: &Path| fs::canonicalize(input).ok().as_ref() == Some(&destination);
        if let Some((_, why)) = inputs.iter().find(|(input, _)| is_destination(input)) {
            return Err(refuse(why));
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", process::id()));
        let temporary = destination.with_file_name(hidden);
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary);
        let file = opened.map_err(|error| write_error(path, error))?;
        Ok(PendingFile {
            file: BufWriter::new(file),
            temporary,
            destination,
            named: path.to_owned(),
        })
    }

    /// Writes the records and puts the file in its place.
    pub(crate) fn finish(mut self, records: &[RequestRecord]) -> Result<(), Error> {
        let written = write_records(&mut self.file, records)
            .and_then(|()| self.file.flush())
            .and_then(|()| fs::rename(&self.temporary, &self.destination));
        written.map_err(|error| write_error(&self.named, error))
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a rename there is nothing of that name; a failure to clean up has no reader.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Files that a run reads, and what is said of a destination that is one of them.
fn inputs(args: &RunArgs) -> Vec<(&Path, &'static str)> {
    let workload = &args.workload;
    let lengths = [
        Some(&workload.prompt),
        Some(&workload.output),
        workload.turns.as_ref(),
    ];
    let lengths = lengths.into_iter().flatten().filter_map(LengthsArg::path);
    let trace = args.trace.trace.as_deref();
    let scenario = args.scenario.as_deref();
    let named = lengths.map(|path| (path, "is a file of lengths of this run"));
    named
        .chain(trace.map(|path| (path, "is the trace itself")))
        .chain(scenario.map(|path| (path, "is the scenario itself")))
        .collect()
}

fn write_error(path: &Path, error: io::Error) -> Error {
    Error::Write {
        path: path.to_owned(),
        error,
    }
}

fn write_records(file: &mut impl Write, records: &[RequestRecord]) -> io::Result<()> {
    writeln!(file, "{HEADER}")?;
    for (index, record) in records.iter().enumerate() {
        let request = &record.request;
        let preemptions = record.timing().map_or(0, |timing| timing.preemptions);
        writeln!(
            file,
            "{index},{}.{:06},{},{},{},{},{},{},{},{},{preemptions}",
            request.arrival_ns / 1_000_000,
            request.arrival_ns % 1_000_000,
            request.prompt_tokens,
            request.output_tokens,
            request.cached_prompt_tokens,
            outcome(&record.outcome),
            ms(record.queue()),
            ms(record.ttft()),
            ms(record.tpot()),
            ms(record.e2e()),
        )?;
    }
    Ok(())
}

/// Milliseconds to the nanosecond; nothing where there is no such time.
fn ms(time: Option<Seconds>) -> String {
    time.map_or_else(String::new, |time| format!("{:.6}", time.ms()))
}

fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed(_) => "completed",
        Outcome::Rejected(reason) => reason_name(reason),
    }
}

/// The name of a reason in outputs.
pub(crate) fn reason_name(reason: &Rejection) -> &'static str {
    match reason {
        Rejection::EmptyPrompt => "empty_prompt",
        Rejection::EmptyOutput => "empty_output",
        Rejection::TooLate { .. } => "too_late",
        Rejection::TooLong { .. } => "too_long",
        Rejection::TooManyBlocks { .. } => "too_many_kv_blocks",
        _ => "other",
    }
}
