//! Rows of the tables that stand out from their neighbours, as notes on what uses them.

use rooflut::sim::{Observer, StepRecord};
use rooflut::step::{Chunk, DecodeGroup, Part, StepBatch};
use rooflut_inspect::{Flagged, FlaggedTally};
use rooflut_report::{FlaggedRow, Shares, fields};
use rooflut_scenario::Run;

use crate::output::{percent, plural, three_digits};

/// The flagged rows on which the time of each kind of server depends.
pub(crate) struct FlaggedByKind<'c> {
    /// In the order of the kinds.
    pub(crate) tallies: Vec<FlaggedTally<'c>>,
    /// The first replica of each kind, if there are several.
    begins: Vec<u32>,
    /// The work of the step whose replica is reported next.
    prefill: Vec<Chunk>,
    decode: Vec<DecodeGroup>,
}

impl<'c> FlaggedByKind<'c> {
    pub(crate) fn new(run: &Run, tallies: Vec<FlaggedTally<'c>>) -> FlaggedByKind<'c> {
        let begins = match run.is_mixed() {
            true => run.groups().iter().map(|group| group.replicas.start).collect(),
            false => Vec::new(),
        };
        FlaggedByKind { tallies, begins, prefill: Vec::new(), decode: Vec::new() }
    }
}

impl Observer for FlaggedByKind<'_> {
    fn wants_steps(&self) -> bool {
        self.tallies.iter().any(FlaggedTally::wants_steps)
    }

    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        if let [only] = self.tallies.as_mut_slice() {
            return only.step_batch(batch);
        }
        self.prefill.clear();
        self.prefill.extend_from_slice(batch.prefill);
        self.decode.clear();
        self.decode.extend_from_slice(batch.decode);
    }

    fn step(&mut self, step: &StepRecord) {
        let kind = self.begins.iter().rposition(|begin| *begin <= step.replica);
        if let Some(tally) = kind.and_then(|kind| self.tallies.get_mut(kind)) {
            tally.step_batch(&StepBatch { prefill: &self.prefill, decode: &self.decode });
        }
    }
}

/// Returns the entry of a report.
pub(crate) fn row(flagged: &Flagged, parts: &[(Part, f64)]) -> FlaggedRow {
    let parts = parts.iter().map(|(part, change)| (part.name(), *change));
    let parts = Shares(parts.collect());
    match (&flagged.dips_of, flagged.rows.first()) {
        (None, Some((row, expected_us))) => {
            let kernel = &row.kernel;
            FlaggedRow {
                row: format!("{}, {}", kernel.operation(), fields::measured(kernel)),
                latency_us: Some(row.latency_us),
                expected_us: Some(*expected_us),
                parts,
            }
        }
        (kernels, _) => FlaggedRow {
            row: format!(
                "{}, {} slower than the next row with more work",
                kernels.as_deref().unwrap_or_default(),
                plural(flagged.rows.len() as u64, "row")
            ),
            latency_us: None,
            expected_us: None,
            parts,
        },
    }
}

/// Returns the note of a text.
pub(crate) fn note(flagged: &FlaggedRow) -> String {
    let parts = flagged
        .parts
        .0
        .iter()
        .map(|(part, change)| {
            let direction = if *change < 0.0 { "less" } else { "more" };
            format!("{part} takes {} {direction} time", percent(100.0 * change.abs()))
        })
        .collect::<Vec<_>>()
        .join(" and ");
    let row = &flagged.row;
    match (flagged.latency_us, flagged.expected_us) {
        (Some(latency_us), Some(expected_us)) => format!(
            "a row that `rooflut-lab tables check` flags is used: {row}, {latency_us} us, expected about {} us from \
             the rows beside it; with that time, {parts}",
            three_digits(expected_us)
        ),
        _ => format!(
            "rows that `rooflut-lab tables check` flags are used: {row}; with the time of the next row, {parts}"
        ),
    }
}
