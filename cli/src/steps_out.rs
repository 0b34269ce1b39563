//! One line per step, written while the simulation goes on.

use std::io::Write;

use rooflut::sim::{Observer, StepRecord};

use crate::error::Error;
use crate::pending_file::PendingFile;

const HEADER: &str = "start_ms,duration_ms,prefill_chunks,prefill_tokens,decode_requests,kv_tokens,\
                      drafted_tokens,accepted_tokens,running,waiting,kv_blocks_used,preempted,replica";

/// A CSV of steps.
pub(crate) struct StepsOut(PendingFile);

impl StepsOut {
    /// Writes to `file`.
    pub(crate) fn new(mut file: PendingFile) -> StepsOut {
        file.write(|file| writeln!(file, "{HEADER}"));
        StepsOut(file)
    }

    /// The simulation has ended.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.0.finish()
    }
}

impl Observer for StepsOut {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &StepRecord) {
        self.0.write(|file| {
            writeln!(
                file,
                "{}.{:06},{}.{:06},{},{},{},{},{},{},{},{},{},{},{}",
                step.start_ns / 1_000_000,
                step.start_ns % 1_000_000,
                step.duration_ns / 1_000_000,
                step.duration_ns % 1_000_000,
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
