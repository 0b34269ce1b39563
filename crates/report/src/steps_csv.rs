//! One line per step.

use std::io::{self, Write};

use rooflut::sim::{Observer, StepRecord};

use crate::clock::Millis;
use crate::sink::Sink;

const HEADER: &str = "start_ms,duration_ms,prefill_chunks,prefill_tokens,decode_requests,kv_tokens,\
                      drafted_tokens,accepted_tokens,running,waiting,kv_blocks_used,preempted,replica";

/// Writes a CSV with a line per step (about 50 bytes), in the order of their ends, while the simulation runs.
///
/// Columns are the fields of [`StepRecord`], times in milliseconds.
pub struct StepsCsv<W>(Sink<W>);

impl<W: Write> StepsCsv<W> {
    /// Writes the header to `out`; the lines follow as steps end.
    pub fn new(out: W) -> StepsCsv<W> {
        let mut out = Sink::new(out);
        out.write(|out| writeln!(out, "{HEADER}"));
        StepsCsv(out)
    }

    /// Flushes the writer and returns it.
    ///
    /// # Errors
    /// The first failure of the writer.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write> Observer for StepsCsv<W> {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &StepRecord) {
        self.0.write(|out| {
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{}",
                Millis(step.start_ns),
                Millis(step.duration_ns),
                step.prefill_chunks,
                step.prefill_tokens,
                step.decode_requests,
                step.kv_tokens,
                step.drafted_tokens,
                step.accepted_tokens,
                step.running,
                step.waiting,
                step.kv_blocks_used,
                step.preempted,
                step.replica,
            )
        });
    }
}
