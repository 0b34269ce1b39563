//! One line per request.

use std::io::{self, Write};

use rooflut::sim::{Outcome, Rejection, RequestRecord};
use rooflut::units::Seconds;

const HEADER: &str = "request,arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens,outcome,\
                      queue_ms,ttft_ms,tpot_ms,e2e_ms,preemptions";

/// Writes the records as CSV.
pub(crate) fn write_records(file: &mut impl Write, records: &[RequestRecord]) -> io::Result<()> {
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
