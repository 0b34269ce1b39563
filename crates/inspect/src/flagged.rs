//! Outliers that the steps of a deployment depend on.

use rooflut::Deployment;
use rooflut::deployment::{ServedModel, ServedTally};
use rooflut::hardware::OperationKind;
use rooflut::sim::Observer;
use rooflut::step::{Chunk, DecodeGroup, Part, StepBatch, StepModel, TimeSources};
use rooflut::table::TableSet;

use crate::family::Inspection;
use crate::outliers::outliers;
use crate::row::Row;

/// Least relative change of a part that counts as a use of a row: lookups themselves are less certain.
pub const LEAST_CHANGE: f64 = 0.01;

/// A row far slower or faster than its neighbours suggest.
#[derive(Debug, Clone, PartialEq)]
pub struct Flagged {
    /// The row.
    pub row: Row,
    /// The latency that its neighbours suggest, microseconds.
    pub expected_us: f64,
}

/// Returns the outliers of all operations of a set, in the order of its rows.
pub fn flagged(set: &TableSet) -> Vec<Flagged> {
    flagged_of(set, |_| true)
}

fn flagged_of(set: &TableSet, is_wanted: impl Fn(OperationKind) -> bool) -> Vec<Flagged> {
    let families = Inspection::of(set).families.into_iter();
    let families = families.filter(|family| is_wanted(family.operation));
    let of_family = families.flat_map(|family| {
        let found = outliers(&family).into_iter().filter_map(move |outlier| {
            let row = family.rows.get(outlier.row)?.clone();
            let expected_us = row.latency_us / outlier.ratio;
            Some(Flagged { row, expected_us })
        });
        found.collect::<Vec<_>>()
    });
    of_family.collect()
}

/// A deployment as it would be if a flagged row had the latency that its neighbours suggest.
#[derive(Debug, Clone)]
pub struct Corrected {
    /// The row.
    pub flagged: Flagged,
    /// The deployment on the corrected tables.
    pub deployment: Deployment,
}

impl Corrected {
    /// Returns the corrected deployments of all flagged rows that change the time of some step by at least
    /// [`LEAST_CHANGE`] of a part; most flagged rows change none.
    ///
    /// Decode attention of a step comes from the median of its rows, which a single row does not move.
    pub fn all(deployment: &Deployment) -> Vec<Corrected> {
        let tables = deployment.tables();
        let is_used = |operation| operation != OperationKind::Decode;
        let corrected = flagged_of(tables, is_used)
            .into_iter()
            .filter_map(|flagged| {
                let factor = flagged.expected_us / flagged.row.latency_us;
                let tables = tables.with_scaled(&flagged.row.kernel, factor);
                let corrected = Corrected {
                    deployment: deployment.to_builder().tables(&tables).build().ok()?,
                    flagged,
                };
                corrected.changes_own_step(deployment).then_some(corrected)
            });
        corrected.collect()
    }

    /// Returns the parts of `batch` that change by at least [`LEAST_CHANGE`], and by how much.
    pub fn changed_parts(&self, given: &Deployment, batch: &StepBatch<'_>) -> Vec<(Part, f64)> {
        let sources = |deployment: &Deployment| {
            let mut sources = TimeSources::default();
            sources.add(&deployment.step_model().step_time(batch));
            if let Some(draft) = deployment.draft_step_model() {
                sources.add(&draft.step_time(batch));
            }
            sources
        };
        changes(&sources(given), &sources(&self.deployment))
    }

    /// Whether the step at the coordinates of the row changes.
    fn changes_own_step(&self, given: &Deployment) -> bool {
        let [first, second] = self.flagged.row.point;
        let changes = |batch: StepBatch<'_>| !self.changed_parts(given, &batch).is_empty();
        let tokens = match self.flagged.row.kernel.operation() {
            OperationKind::Prefill => {
                let chunk = Chunk::prompt(second);
                let chunks = chunk.map(|chunk| vec![chunk; first as usize]);
                return chunks.is_ok_and(|chunks| {
                    changes(StepBatch {
                        prefill: &chunks,
                        decode: &[],
                    })
                });
            }
            // Bytes of 16-bit hidden states.
            OperationKind::AllReduce => first / (2 * given.spec().hidden.max(1)),
            _ => first,
        };
        let group = DecodeGroup::uniform(tokens.max(1), 1);
        group.is_ok_and(|group| {
            changes(StepBatch {
                prefill: &[],
                decode: &[group],
            })
        })
    }
}

/// An observer of servers that finds the flagged rows on which the time of a run depends.
#[derive(Debug)]
pub struct FlaggedTally<'c> {
    tallies: Vec<(&'c Flagged, ServedTally<'c>)>,
}

impl<'c> FlaggedTally<'c> {
    /// Creates a tally without steps; `models` are the served models of `corrected`, in the same order.
    pub fn new(corrected: &'c [Corrected], models: &'c [ServedModel]) -> FlaggedTally<'c> {
        let flagged = corrected.iter().map(|corrected| &corrected.flagged);
        FlaggedTally {
            tallies: flagged.zip(models.iter().map(ServedTally::new)).collect(),
        }
    }

    /// Returns the rows without which parts of the run, which took the time of `given`, change by at least
    /// [`LEAST_CHANGE`], with these parts and their changes.
    pub fn changed_parts(&self, given: &TimeSources) -> Vec<(&'c Flagged, Vec<(Part, f64)>)> {
        let rows = self.tallies.iter();
        let rows = rows.map(|(flagged, tally)| (*flagged, changes(given, &tally.sources())));
        rows.filter(|(_, parts)| !parts.is_empty()).collect()
    }
}

impl Observer for FlaggedTally<'_> {
    fn wants_steps(&self) -> bool {
        !self.tallies.is_empty()
    }

    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        for (_, tally) in &mut self.tallies {
            tally.step_batch(batch);
        }
    }
}

/// Returns the parts whose time differs, and by how much of the given time.
fn changes(given: &TimeSources, corrected: &TimeSources) -> Vec<(Part, f64)> {
    let times =
        |sources: &TimeSources| sources.part_shares().map(|share| share * sources.total().0);
    let times = times(given).into_iter().zip(times(corrected));
    let parts = Part::ALL.into_iter().zip(times);
    let changes = parts.filter(|(_, (given, _))| *given > 0.0);
    let changes = changes.map(|(part, (given, corrected))| (part, corrected / given - 1.0));
    changes
        .filter(|(_, change)| change.abs() >= LEAST_CHANGE)
        .collect()
}
