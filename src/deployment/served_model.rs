//! Step times of a deployment's server.

use super::Deployment;
use crate::sim::Observer;
use crate::step::{
    DecodeGroup, Drafting, LatencyModel, RooflineModel, StepBatch, StepModel, StepTime,
    TabulatedModel, Tally, TimeSources,
};
use crate::units::Seconds;

/// Maximum number of tokens of a tabulated step; the times of larger steps are computed on demand.
const MAX_TABULATED: u32 = 8_192;

/// Predicts the step times of a [`Deployment`]'s server: those of the served model plus those of its draft model or MTP
/// layer, if any.
///
/// The times of small steps are tabulated, so a decode step costs a few nanoseconds.
#[derive(Debug, Clone)]
pub struct ServedModel {
    target: TabulatedModel,
    draft: Option<(TabulatedModel, u32)>,
    /// Whether the draft is a run over an MTP layer.
    mtp: bool,
}

impl ServedModel {
    pub(super) fn new(deployment: &Deployment) -> ServedModel {
        let config = &deployment.given.config;
        let max_tokens = deployment.memory_limits().max_num_batched_tokens;
        let tabulated = |model: &RooflineModel| {
            TabulatedModel::new(model.clone(), max_tokens.min(MAX_TABULATED))
        };
        let draft = deployment.draft_step_model().zip(config.speculation);
        ServedModel {
            target: tabulated(deployment.step_model()),
            draft: draft.map(|(draft, speculation)| (tabulated(draft), speculation.draft_tokens())),
            mtp: deployment.has_mtp(),
        }
    }

    fn drafting(&self) -> Option<Drafting<&TabulatedModel, &TabulatedModel>> {
        let (draft, tokens) = self.draft.as_ref()?;
        Some(match self.mtp {
            true => Drafting::with_mtp(&self.target, draft, *tokens),
            false => Drafting::new(&self.target, draft, *tokens),
        })
    }
}

impl LatencyModel for ServedModel {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        match self.drafting() {
            None => self.target.total_time(batch),
            Some(drafting) => drafting.total_time(batch),
        }
    }

    fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
        match self.drafting() {
            None => self.target.lockstep_time(ranks),
            Some(drafting) => drafting.lockstep_time(ranks),
        }
    }

    fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
        match self.drafting() {
            None => self.target.pipeline_times(batch, run),
            Some(drafting) => drafting.pipeline_times(batch, run),
        }
    }

    #[inline]
    fn decode_time(&self, decode: DecodeGroup) -> Seconds {
        match self.drafting() {
            None => self.target.decode_time(decode),
            Some(drafting) => drafting.decode_time(decode),
        }
    }
}

impl StepModel for ServedModel {
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
        match self.drafting() {
            None => self.target.step_time(batch),
            Some(drafting) => drafting.step_time(batch),
        }
    }
}

/// An observer of servers that adds up the sources of their step times.
///
/// ```
/// use rooflut::deployment::ServedTally;
/// use rooflut::sim::load::RequestList;
/// use rooflut::sim::Request;
/// use rooflut::table::sets;
/// use rooflut::{Deployment, model};
///
/// let llama = model::find("llama-3.1-8b").expect("in the catalogue");
/// let simulator = Deployment::builder(llama.spec, &sets::H100).build()?.simulator()?;
/// let mut tally = ServedTally::new(simulator.model());
/// simulator.serve(&mut RequestList::new(&[Request::new(512, 128)]), &mut tally);
/// // Small kernels, sampling and the like are in no table.
/// assert!((0.05..0.3).contains(&tally.sources().fitted_share()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ServedTally<'m> {
    model: &'m ServedModel,
    target: Tally<'m>,
    draft: Option<Tally<'m>>,
}

impl<'m> ServedTally<'m> {
    /// Creates an empty tally.
    pub fn new(model: &'m ServedModel) -> ServedTally<'m> {
        ServedTally {
            model,
            target: Tally::new(&model.target),
            draft: model.draft.as_ref().map(|(draft, _)| Tally::new(draft)),
        }
    }

    /// Leaves attention and the host out, as [`Tally::without_attention`].
    #[must_use]
    pub fn without_attention(self) -> ServedTally<'m> {
        ServedTally {
            target: self.target.without_attention(),
            draft: self.draft.map(Tally::without_attention),
            ..self
        }
    }

    /// Returns the sources of the time of all steps, including the draft model's.
    pub fn sources(&self) -> TimeSources {
        let target = self.target.sources();
        self.draft_sources()
            .map_or(target, |draft| target.plus(&draft))
    }

    /// Returns the sources of the time of the draft model's steps, if there is a draft model.
    pub fn draft_sources(&self) -> Option<TimeSources> {
        self.draft.as_ref().map(Tally::sources)
    }
}

impl Observer for ServedTally<'_> {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        self.target.add(batch);
        if let (Some(tally), Some(drafting)) = (&mut self.draft, self.model.drafting()) {
            drafting.draft_runs(batch, |run| tally.add(run));
        }
    }
}
