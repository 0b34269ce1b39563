//! One line per request, written while the simulation goes on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use rooflut::sim::{KvTransfer, Observer, Outcome, Rejection, RequestRecord};
use rooflut::units::Seconds;

use crate::error::Error;
use crate::pending_file::PendingFile;

const HEADER: &str = "request,arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens,outcome,\
                      queue_ms,ttft_ms,tpot_ms,e2e_ms,preemptions,replica,\
                      prefill_replica,transfer_ms,decode_queue_ms";

/// A CSV of requests, in the order of their places.
///
/// A request that leaves before one of an earlier place is kept until that has left. Where they are
/// served about as they come, memory does not grow with those that have left.
pub(crate) struct RequestsOut {
    file: PendingFile,
    /// The place whose line is the next.
    next: usize,
    /// Those that have left before it.
    early: BTreeMap<usize, RequestRecord>,
}

impl RequestsOut {
    /// Writes to `file`.
    pub(crate) fn new(mut file: PendingFile) -> RequestsOut {
        file.write(|file| writeln!(file, "{HEADER}"));
        RequestsOut {
            file,
            next: 0,
            early: BTreeMap::new(),
        }
    }

    /// The simulation has ended.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        for (place, record) in &self.early {
            self.file.write(|file| write_row(file, *place, record));
        }
        self.file.finish()
    }
}

impl Observer for RequestsOut {
    fn finished(&mut self, place: usize, record: &RequestRecord) {
        self.early.insert(place, *record);
        while let Some(record) = self.early.remove(&self.next) {
            let place = self.next;
            self.file.write(|file| write_row(file, place, &record));
            self.next += 1;
        }
    }
}

fn write_row(file: &mut BufWriter<File>, place: usize, record: &RequestRecord) -> io::Result<()> {
    let request = &record.request;
    let timing = record.timing();
    let replica = timing.map_or_else(String::new, |timing| timing.replica.to_string());
    let kv_transfer = timing.and_then(|timing| timing.kv_transfer);
    let kv_transfer =
        kv_transfer.map_or_else(|| ",,".to_owned(), |kv_transfer| handed_over(&kv_transfer));
    writeln!(
        file,
        "{place},{},{},{},{},{},{},{},{},{},{},{replica},{kv_transfer}",
        clock_ms(request.arrival_ns),
        request.prompt_tokens,
        request.output_tokens,
        request.cached_prompt_tokens,
        outcome(&record.outcome),
        ms(record.queue()),
        ms(record.ttft()),
        ms(record.tpot()),
        ms(record.e2e()),
        timing.map_or(0, |timing| timing.preemptions),
    )
}

/// Who computed the prompt, how long its KV entries were on their way, and how long they waited to be decoded.
fn handed_over(kv_transfer: &KvTransfer) -> String {
    let KvTransfer {
        prefill_replica,
        prefilled_ns,
        delivered_ns,
        scheduled_ns,
        ..
    } = *kv_transfer;
    let transfer = clock_ms(delivered_ns.saturating_sub(prefilled_ns));
    let queue = clock_ms(scheduled_ns.saturating_sub(delivered_ns));
    format!("{prefill_replica},{transfer},{queue}")
}

/// Nanoseconds of the clock in milliseconds.
fn clock_ms(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

/// Milliseconds to the nanosecond; nothing where there is no such time.
fn ms(time: Option<Seconds>) -> String {
    time.map_or_else(String::new, |time| format!("{:.6}", time.ms()))
}

fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed(_) => "completed",
        Outcome::Rejected(reason) => reason_name(reason),
        _ => "other",
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

#[cfg(test)]
mod tests {
    use std::fs;

    use rooflut::sim::Request;

    use super::*;

    #[test]
    fn lines_are_in_the_order_of_places_and_few_requests_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests.csv");
        let mut rows = RequestsOut::new(PendingFile::create(&path, &[]).unwrap());
        let outcome = Outcome::Rejected(Rejection::EmptyPrompt);
        let record = RequestRecord::new(Request::default(), outcome);
        // They leave in pairs, the later one first; the last one never does.
        for pair in 0..500 {
            rows.finished(2 * pair + 1, &record);
            rows.finished(2 * pair, &record);
            assert!(rows.early.is_empty());
        }
        rows.finished(1_001, &record);
        rows.finish().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let places = text.lines().skip(1).map(|row| row.split(',').next());
        let expected: Vec<String> = (0..1_000).chain([1_001]).map(|p| p.to_string()).collect();
        assert!(places.eq(expected.iter().map(|place| Some(place.as_str()))));
    }
}
