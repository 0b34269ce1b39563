//! Outliers and dips that the steps of a deployment depend on.

use std::collections::BTreeMap;

use rooflut::Deployment;
use rooflut::deployment::{ServedModel, ServedTally};
use rooflut::hardware::OperationKind;
use rooflut::sim::Observer;
use rooflut::step::{Chunk, DecodeGroup, Part, StepBatch, StepModel, TimeSources};
use rooflut::table::TableSet;

use crate::dips::{DIP, dips};
use crate::family::{Family, Inspection};
use crate::outliers::outliers;
use crate::row::Row;

/// Least relative change of a part that counts as a use of an outlier: lookups themselves are less certain. For dips
/// it is [`DIP`], since latencies that fall by less are not reported.
pub const LEAST_CHANGE: f64 = 0.01;

/// Rows that stand out: an outlier, or the dips of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Flagged {
    /// The rows, each with the latency that its neighbours suggest, microseconds. For dips these are the slower rows;
    /// each should take no longer than the next one on its axis.
    pub rows: Vec<(Row, f64)>,
    /// The name of the family; `None` for an outlier.
    pub dips_of: Option<String>,
}

impl Flagged {
    /// Whether the rows are of kernels whose time in a step depends on its number of tokens alone.
    fn is_of_tokens(&self) -> bool {
        let is_of_tokens = |operation| {
            matches!(
                operation,
                OperationKind::Gemm | OperationKind::Moe | OperationKind::AllReduce
            )
        };
        let mut rows = self.rows.iter();
        rows.all(|(row, _)| is_of_tokens(row.kernel.operation()))
    }

    /// Returns the parts whose time differs, and by how much of the given time.
    fn changes(&self, given: &TimeSources, corrected: &TimeSources) -> Vec<(Part, f64)> {
        let least = match self.dips_of {
            Some(_) => DIP,
            None => LEAST_CHANGE,
        };
        let times =
            |sources: &TimeSources| sources.part_shares().map(|share| share * sources.total().0);
        let times = times(given).into_iter().zip(times(corrected));
        let parts = Part::ALL.into_iter().zip(times);
        // A tally leaves parts out that the rows do not change.
        let changes = parts.filter(|(_, (given, corrected))| given.min(*corrected) > 0.0);
        let changes = changes.map(|(part, (given, corrected))| (part, corrected / given - 1.0));
        changes
            .filter(|(_, change)| change.abs() >= least)
            .collect()
    }
}

/// Returns the outliers of the operations of a set that are wanted, in the order of its rows, and the dips of each
/// family behind its outliers.
fn flagged(set: &TableSet, is_wanted: impl Fn(OperationKind) -> bool) -> Vec<Flagged> {
    let families = Inspection::of(set).families.into_iter();
    let families = families.filter(|family| is_wanted(family.operation));
    families.flat_map(|family| of_family(&family)).collect()
}

fn of_family(family: &Family) -> Vec<Flagged> {
    let outliers = outliers(family);
    let of_row = |rows: Vec<(usize, f64)>, dips_of| {
        let rows = rows.into_iter();
        let rows = rows.filter_map(|(row, ratio)| {
            let row = family.rows.get(row)?.clone();
            let expected_us = row.latency_us * ratio;
            Some((row, expected_us))
        });
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then_some(Flagged { rows, dips_of })
    };
    let dips = dips(family, &outliers, DIP).into_iter();
    let mut falls = BTreeMap::new();
    for dip in dips.flat_map(|dips| dips.dips) {
        let ratio: &mut f64 = falls.entry(dip.from).or_insert(1.0);
        *ratio = ratio.min(1.0 - dip.falls);
    }
    let dips = of_row(falls.into_iter().collect(), Some(family.name.clone()));
    let outliers = outliers.iter();
    let outliers =
        outliers.filter_map(|outlier| of_row(vec![(outlier.row, 1.0 / outlier.ratio)], None));
    outliers.chain(dips).collect()
}

/// A deployment as it would be if flagged rows had the latency that their neighbours suggest.
#[derive(Debug, Clone)]
pub struct Corrected {
    /// The rows.
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
        let corrected = flagged(tables, is_used).into_iter().filter_map(|flagged| {
            let rows = flagged.rows.iter();
            let rows = rows.map(|(row, us)| (row.kernel, us / row.latency_us));
            let tables = tables.with_scaled(&rows.collect::<Vec<_>>());
            let corrected = Corrected {
                deployment: deployment.to_builder().tables(&tables).build().ok()?,
                flagged,
            };
            corrected.changes_own_steps(deployment).then_some(corrected)
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
        self.flagged
            .changes(&sources(given), &sources(&self.deployment))
    }

    /// Whether the step at the coordinates of one of the rows changes.
    fn changes_own_steps(&self, given: &Deployment) -> bool {
        let mut rows = self.flagged.rows.iter();
        rows.any(|(row, _)| self.changes_step_of(row, given))
    }

    fn changes_step_of(&self, row: &Row, given: &Deployment) -> bool {
        let [first, second] = row.point;
        let (mut prefill, mut decode) = (Vec::new(), Vec::new());
        let tokens = match row.kernel.operation() {
            OperationKind::Prefill => {
                prefill.extend(Chunk::prompt(second).map(|chunk| vec![chunk; first as usize]));
                0
            }
            // Bytes of 16-bit hidden states.
            OperationKind::AllReduce | OperationKind::AllGather | OperationKind::ReduceScatter => {
                (first / (2 * given.spec().hidden.max(1))).max(1)
            }
            _ => first,
        };
        decode.extend(DecodeGroup::uniform(tokens, 1));
        let batch = StepBatch {
            prefill: &prefill.concat(),
            decode: &decode,
        };
        !self.changed_parts(given, &batch).is_empty()
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
        let tally = |(flagged, model): (&'c Flagged, _)| {
            let tally = ServedTally::new(model);
            match flagged.is_of_tokens() {
                // Attention would be looked up in each step.
                true => (flagged, tally.without_attention()),
                false => (flagged, tally),
            }
        };
        FlaggedTally {
            tallies: flagged.zip(models).map(tally).collect(),
        }
    }

    /// Returns the rows without which parts of the run, which took the time of `given`, change by at least
    /// [`LEAST_CHANGE`], with these parts and their changes.
    pub fn changed_parts(&self, given: &TimeSources) -> Vec<(&'c Flagged, Vec<(Part, f64)>)> {
        let rows = self.tallies.iter();
        let rows =
            rows.map(|(flagged, tally)| (*flagged, flagged.changes(given, &tally.sources())));
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
