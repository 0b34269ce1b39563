//! One line per request, in a file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use rooflut::sim::{Outcome, Rejection, RequestRecord};
use rooflut::units::Seconds;

use crate::error::Error;

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
    /// Opens a file beside `path`, so that what cannot be written is refused before any work.
    ///
    /// `input` is a file that must not be replaced.
    pub(crate) fn create(path: &Path, input: Option<&Path>) -> Result<PendingFile, Error> {
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
        if input.is_some_and(|input| fs::canonicalize(input).ok().as_ref() == Some(&destination)) {
            return Err(refuse("is the trace itself"));
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
        Rejection::QueueFull { .. } => "queue_full",
        _ => "other",
    }
}
