//! One line per request.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rooflut::sim::{KvTransfer, Observer, Outcome, RequestRecord};
use rooflut::units::Seconds;

use crate::clock::Millis;
use crate::rejections;
use crate::sink::Sink;

const HEADER: &str = "request,arrival_ms,prompt_tokens,output_tokens,cached_prompt_tokens,outcome,\
                      queue_ms,ttft_ms,tpot_ms,e2e_ms,preemptions,replica,\
                      prefill_replica,transfer_ms,decode_queue_ms,priority";

/// Writes a CSV with a line per request, in the order of the load, while the simulation runs.
///
/// A request that completes before an earlier request is held back until the earlier request has completed. If requests
/// complete about in order, memory does not grow with their number.
///
/// Times are milliseconds to the nanosecond, empty if a request has none. The three columns before the last are for
/// disaggregated servers.
pub struct RequestsCsv<W> {
    out: Sink<W>,
    /// Index of the request whose line is the next.
    next: usize,
    /// Later requests that have completed.
    early: BTreeMap<usize, RequestRecord>,
}

impl<W: Write> RequestsCsv<W> {
    /// Writes the header to `out`; the lines follow as requests complete.
    pub fn new(out: W) -> RequestsCsv<W> {
        let mut out = Sink::new(out);
        out.write(|out| writeln!(out, "{HEADER}"));
        RequestsCsv { out, next: 0, early: BTreeMap::new() }
    }

    /// Writes what was held back, flushes the writer and returns it.
    ///
    /// # Errors
    /// The first failure of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        for (index, record) in &self.early {
            self.out.write(|out| write_row(out, *index, record));
        }
        self.out.finish()
    }
}

impl<W: Write> Observer for RequestsCsv<W> {
    fn finished(&mut self, index: usize, record: &RequestRecord) {
        self.early.insert(index, *record);
        while let Some(record) = self.early.remove(&self.next) {
            self.out.write(|out| write_row(out, self.next, &record));
            self.next += 1;
        }
    }
}

fn write_row(out: &mut impl Write, index: usize, record: &RequestRecord) -> io::Result<()> {
    let request = &record.request;
    let timing = record.timing();
    let replica = timing.map_or_else(String::new, |timing| timing.replica.to_string());
    let transfer =
        timing.and_then(|timing| timing.kv_transfer).map_or_else(|| ",,".to_owned(), |transfer| transferred(&transfer));
    writeln!(
        out,
        "{index},{},{},{},{},{},{},{},{},{},{},{replica},{transfer},{}",
        Millis(request.arrival_ns),
        request.prompt_tokens,
        request.output_tokens,
        request.cached_prompt_tokens,
        outcome_name(&record.outcome),
        ms(record.queue()),
        ms(record.ttft()),
        ms(record.tpot()),
        ms(record.e2e()),
        timing.map_or(0, |timing| timing.preemptions),
        request.priority,
    )
}

/// Prefill replica, time of the transfer, time in the queue of the decode server.
fn transferred(transfer: &KvTransfer) -> String {
    format!(
        "{},{},{}",
        transfer.prefill_replica,
        Millis(transfer.delivered_ns.saturating_sub(transfer.prefilled_ns)),
        Millis(transfer.scheduled_ns.saturating_sub(transfer.delivered_ns)),
    )
}

/// Milliseconds to the nanosecond, empty for `None`.
fn ms(time: Option<Seconds>) -> String {
    time.map_or_else(String::new, |time| format!("{:.6}", time.ms()))
}

/// Returns the name of an outcome in the column `outcome`: `completed`, or the reason of the rejection as a field of
/// [`Rejections`](crate::Rejections).
pub fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed(_) => "completed",
        Outcome::Rejected(reason) => rejections::name(reason),
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use rooflut::sim::{Rejection, Request};

    use super::*;

    #[test]
    fn lines_are_in_the_order_of_the_load_and_few_requests_are_held_back() {
        let mut rows = RequestsCsv::new(Vec::new());
        let outcome = Outcome::Rejected(Rejection::EmptyPrompt);
        let record = RequestRecord::new(Request::default(), outcome);
        // They complete in pairs, the later one first; request 1,000 never does.
        for pair in 0..500 {
            rows.finished(2 * pair + 1, &record);
            rows.finished(2 * pair, &record);
            assert!(rows.early.is_empty());
        }
        rows.finished(1_001, &record);
        let text = String::from_utf8(rows.finish().unwrap()).unwrap();
        let indices = text.lines().skip(1).map(|row| row.split(',').next());
        let expected: Vec<String> = (0..1_000).chain([1_001]).map(|i| i.to_string()).collect();
        assert!(indices.eq(expected.iter().map(|index| Some(index.as_str()))));
    }
}
