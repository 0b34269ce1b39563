//! Outliers and dips that the steps of a deployment depend on.

use std::collections::BTreeMap;
use std::iter;

use rooflut::Deployment;
use rooflut::deployment::{ServedModel, ServedTally};
use rooflut::hardware::{Dtype, MeasuredKernel, OperationKind};
use rooflut::model::{Attention, Ffn, LayerGroup, Span};
use rooflut::sim::Observer;
use rooflut::step::{Chunk, DecodeGroup, Part, StepBatch, StepModel, TimeSources};

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
        let is_of_tokens =
            |operation| matches!(operation, OperationKind::Gemm | OperationKind::Moe | OperationKind::AllReduce);
        let mut rows = self.rows.iter();
        rows.all(|(row, _)| is_of_tokens(row.kernel.operation()))
    }

    /// Returns the parts whose time differs, and by how much of the given time.
    fn changes(&self, given: &TimeSources, corrected: &TimeSources) -> Vec<(Part, f64)> {
        let least = match self.dips_of {
            Some(_) => DIP,
            None => LEAST_CHANGE,
        };
        let times = |sources: &TimeSources| sources.part_shares().map(|share| share * sources.total().0);
        let times = times(given).into_iter().zip(times(corrected));
        let parts = Part::ALL.into_iter().zip(times);
        // A tally leaves parts out that the rows do not change.
        let changes = parts
            .filter(|(_, (given, corrected))| given.min(*corrected) > 0.0)
            .map(|(part, (given, corrected))| (part, corrected / given - 1.0));
        changes.filter(|(_, change)| change.abs() >= least).collect()
    }
}

/// Returns the outliers of the families of which a deployment may use rows, in the order of its rows, and the dips of
/// each family behind its outliers.
fn flagged(deployment: &Deployment) -> Vec<Flagged> {
    let may_use = |kernel: &MeasuredKernel| may_use(deployment, kernel);
    let tables = deployment.tables();
    let families = Inspection::of_kernels(tables.base().unwrap_or(tables), may_use).families;
    families.iter().flat_map(of_family).collect()
}

/// Whether a deployment may depend on the rows of the kernel's family: others are not worth the time to inspect them.
///
/// Decode attention of a step comes from the median of its rows, which a single row does not move.
fn may_use(deployment: &Deployment, kernel: &MeasuredKernel) -> bool {
    let models = || iter::once(deployment.spec()).chain(deployment.draft());
    let some_layer = |is_one: fn(&LayerGroup, Dtype) -> bool| {
        let mut layers = models().flat_map(|model| model.layers.iter());
        layers.any(|group| is_one(group, kernel.dtype()))
    };
    let has_states = || some_layer(|group, _| matches!(group.attention, Attention::DeltaNet(_)));
    match kernel.operation() {
        OperationKind::Decode => false,
        // Embeddings and routers are 16-bit.
        OperationKind::Gemm => {
            kernel.dtype() == Dtype::Bf16
                || some_layer(|group, dtype| group.dtypes().any(|of_weights| of_weights == dtype))
        }
        OperationKind::Moe => some_layer(|group, _| matches!(group.ffn, Ffn::Moe { .. })),
        OperationKind::Prefill => some_layer(|group, _| matches!(group.attention, Attention::Gqa(_))),
        OperationKind::WindowPrefill | OperationKind::WindowDecode => {
            has_states() || models().any(|model| model.limited_span() != Span::Full)
        }
        OperationKind::MlaPrefill | OperationKind::MlaDecode | OperationKind::DsaPrefill | OperationKind::DsaDecode => {
            some_layer(|group, _| matches!(group.attention, Attention::Mla(_)))
        }
        OperationKind::MsaPrefill | OperationKind::MsaDecode => {
            some_layer(|group, _| matches!(group.attention, Attention::Msa(_)))
        }
        OperationKind::DeltaPrefill | OperationKind::DeltaDecode => has_states(),
        OperationKind::CompressedPrefill | OperationKind::CompressedDecode | OperationKind::HyperConnection => {
            some_layer(|group, _| matches!(group.attention, Attention::Compressed(_)))
        }
        OperationKind::AllReduce | OperationKind::AllGather | OperationKind::ReduceScatter => {
            deployment.parallelism().gpus() > 1
        }
        _ => true,
    }
}

fn of_family(family: &Family) -> Vec<Flagged> {
    let outliers = outliers(family);
    let of_row = |rows: Vec<(usize, f64)>, dips_of| {
        let rows = rows.into_iter().filter_map(|(row, ratio)| {
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
    let outliers = outliers.iter().filter_map(|outlier| of_row(vec![(outlier.row, 1.0 / outlier.ratio)], None));
    outliers.chain(dips).collect()
}

/// A deployment in which flagged rows have the latency that their neighbours suggest.
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
    pub fn all(deployment: &Deployment) -> Vec<Corrected> {
        let flagged = flagged(deployment);
        // Tables are copied for rows of which a step at their coordinates shows some change when all are corrected.
        let Some(all) = corrected(deployment, flagged.iter().flat_map(|one| &one.rows)) else {
            return Vec::new();
        };
        let some_change = |batch: &StepBatch<'_>| {
            let [given, all] = [deployment, &all].map(|of| sources(of, batch));
            given.total() != all.total()
        };
        let candidates = flagged.into_iter().filter(|flagged| flagged.some_own_step(deployment, some_change));
        let corrected = candidates.filter_map(|flagged| {
            let corrected = Corrected { deployment: corrected(deployment, &flagged.rows)?, flagged };
            let changes = |batch: &StepBatch<'_>| !corrected.changed_parts(deployment, batch).is_empty();
            let is_used = corrected.flagged.some_own_step(deployment, changes);
            is_used.then_some(corrected)
        });
        corrected.collect()
    }

    /// Returns the parts of `batch` that change by at least [`LEAST_CHANGE`], and by how much.
    pub fn changed_parts(&self, given: &Deployment, batch: &StepBatch<'_>) -> Vec<(Part, f64)> {
        self.flagged.changes(&sources(given, batch), &sources(&self.deployment, batch))
    }
}

/// Returns the deployment on tables whose rows have the latencies that their neighbours suggest; `None` without rows.
fn corrected<'r>(deployment: &Deployment, rows: impl IntoIterator<Item = &'r (Row, f64)>) -> Option<Deployment> {
    let rows = rows.into_iter();
    let rows: Vec<_> = rows.map(|(row, us)| (row.kernel, us / row.latency_us)).collect();
    let tables = (!rows.is_empty()).then(|| deployment.tables().with_scaled(&rows))?;
    deployment.to_builder().tables(&tables).build().ok()
}

/// Returns the sources of the time of a step, the draft model's included.
fn sources(deployment: &Deployment, batch: &StepBatch<'_>) -> TimeSources {
    let mut sources = TimeSources::default();
    sources.add(&deployment.step_model().step_time(batch));
    if let Some(draft) = deployment.first_draft_step_model().or(deployment.draft_step_model()) {
        sources.add(&draft.step_time(batch));
    }
    sources
}

impl Flagged {
    /// Whether `is_one` holds for the step at the coordinates of one of the rows.
    fn some_own_step(&self, given: &Deployment, mut is_one: impl FnMut(&StepBatch<'_>) -> bool) -> bool {
        let mut rows = self.rows.iter();
        rows.any(|(row, _)| row.with_own_step(given, &mut is_one))
    }
}

impl Row {
    /// Calls `ask` with the step at the coordinates of the row.
    fn with_own_step(&self, given: &Deployment, ask: impl FnOnce(&StepBatch<'_>) -> bool) -> bool {
        let [first, second] = self.point;
        let (mut prefill, mut decode) = (Vec::new(), Vec::new());
        let tokens = match self.kernel.operation() {
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
        ask(&StepBatch { prefill: &prefill.concat(), decode: &decode })
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
        FlaggedTally { tallies: flagged.zip(models).map(tally).collect() }
    }

    /// Returns the rows that change the time of parts of the run by at least [`LEAST_CHANGE`] when left out, with these
    /// parts and their changes. `given` has the time of the run.
    pub fn changed_parts(&self, given: &TimeSources) -> Vec<(&'c Flagged, Vec<(Part, f64)>)> {
        let rows = self.tallies.iter().map(|(flagged, tally)| (*flagged, flagged.changes(given, &tally.sources())));
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

#[cfg(test)]
mod tests {
    use rooflut::model;
    use rooflut::table::{TableSet, sets};

    use super::*;

    /// The bits of the times of a mixed step and of a prompt.
    fn times(deployment: &Deployment) -> [u64; 2] {
        let decode: Vec<_> = DecodeGroup::uniform(64, 1000).into_iter().collect();
        let prefill: Vec<_> = Chunk::prompt(2048).into_iter().collect();
        [&decode[..], &[]].map(|decode| {
            let prefill = &prefill;
            let sources = sources(deployment, &StepBatch { prefill, decode });
            sources.total().0.to_bits()
        })
    }

    #[test]
    fn steps_depend_on_no_family_that_is_left_out() {
        let families = Inspection::of(&sets::H100).families;
        let mut left_out = 0;
        for (name, ranks) in [
            ("llama-3.1-8b", 1),
            ("llama-3.1-70b", 4),
            ("mixtral-8x7b-v0.1", 2),
            ("qwen3-30b-a3b-fp8", 2),
            ("gemma-3-27b", 1),
            ("qwen3-next-80b-a3b", 4),
            ("deepseek-r1", 16),
            ("deepseek-v3.2", 16),
        ] {
            let spec = model::find(name).unwrap().spec;
            let on = |tables: &TableSet| Deployment::builder(spec, tables).tp(ranks).build().unwrap();
            let given = on(&sets::H100);
            for family in &families {
                let kernel = family.rows[0].kernel;
                if kernel.operation() == OperationKind::Decode || may_use(&given, &kernel) {
                    continue;
                }
                let rows = family.rows.iter().map(|row| (row.kernel, 2.0));
                let slow = sets::H100.with_scaled(&rows.collect::<Vec<_>>());
                assert_eq!(times(&on(&slow)), times(&given), "{name}: {}", family.name);
                left_out += 1;
            }
        }
        assert!(left_out > 50, "{left_out}");
    }
}
