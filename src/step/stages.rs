//! Pipeline stages.

use alloc::vec::Vec;

use super::finder::Finder;
use super::kernels::Kernels;
use super::transfer::Transfer;
use super::{Parallelism, RooflineModel, StepBatch, StepOptions, StepTime};
use crate::error::Error;
use crate::model::{Layers, ModelSpec};
use crate::table::TableSet;
use crate::units::Seconds;

/// Looks up every kernel of the pipeline stages of `model`.
///
/// The last stage projects to the vocabulary and samples. The first one waits for the host: it prepares a batch for all
/// stages at once, and the others have theirs when the first one has computed.
pub(super) fn pipeline(
    model: &ModelSpec,
    set: &TableSet,
    parallelism: Parallelism,
    options: StepOptions,
) -> Result<RooflineModel, Error> {
    let find = Finder::new(model, set, parallelism, &options);
    let of_stage = |layers: &ModelSpec, options: &StepOptions| {
        let kernels = Kernels::resolve(layers, set, parallelism, options)?;
        RooflineModel::stage(layers, set, parallelism, options, kernels)
    };
    let stage = |(index, layers): (u32, Layers)| {
        let layers = ModelSpec { layers, ..*model };
        let mut options = options;
        if index > 0 {
            options.constants.host = Seconds::ZERO;
            options.constants.host_request = Seconds::ZERO;
        }
        let mut stage = of_stage(&layers, &options)?;
        let next = index + 1;
        if next < parallelism.pp {
            stage.transfer = Some(Transfer::to_stage(&find, next)?);
        }
        Ok::<_, Error>(stage)
    };
    let mut stages = (0..).zip(model.stages(parallelism.pp)).map(stage);
    let mut first = match stages.next() {
        Some(first) => first?,
        None => of_stage(model, &options)?,
    };
    first.following = stages.collect::<Result<Vec<_>, _>>()?;
    Ok(first)
}

impl RooflineModel {
    /// Returns this pipeline stage and those after it.
    pub(super) fn stages(&self) -> impl Iterator<Item = &RooflineModel> {
        core::iter::once(self).chain(&self.following)
    }

    /// Returns the time of a step in each pipeline stage, in order, including the time to send the results to the next
    /// stage. A model without pipeline parallelism has one stage.
    ///
    /// Their sum is the [`step_time`](super::StepModel::step_time): the latency of a batch that waits for no other.
    /// Batches follow each other in the time of the longest stage.
    ///
    /// ```
    /// use rooflut::model;
    /// use rooflut::step::{
    ///     DecodeGroup, LatencyModel, Parallelism, Part, RooflineModel, StepBatch, StepOptions,
    /// };
    /// use rooflut::table::sets;
    ///
    /// let llama = model::find("llama-3.1-70b").unwrap().spec;
    /// let (four, options) = (Parallelism::tensor(4).with_pp(2), StepOptions::default());
    /// let step = RooflineModel::try_new(&llama, &sets::H100, four, options)?;
    /// let decode = [DecodeGroup::uniform(64, 1_000)?];
    /// let batch = StepBatch { prefill: &[], decode: &decode };
    /// let stages: Vec<_> = step.stage_times(&batch).collect();
    /// assert!(stages[0].part(Part::Transfer).us() > 10.0 && stages[1].part(Part::LmHead).us() > 10.0);
    /// assert_eq!(stages[0].total() + stages[1].total(), step.total_time(&batch));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stage_times(&self, batch: &StepBatch<'_>) -> impl Iterator<Item = StepTime> {
        self.stages().map(move |stage| stage.stage_time(batch))
    }

    /// Returns the time of a step, added up over this stage and those after it.
    #[cold] // Most models have one stage.
    pub(super) fn all_stages_time(&self, batch: &StepBatch<'_>) -> StepTime {
        let mut step = self.stage_time(batch);
        for stage in &self.following {
            step.add_all(&stage.stage_time(batch));
        }
        step
    }
}
