//! How long the steps of a simulated server take, draft model included.

use rooflut::Deployment;
use rooflut::sim::{Observer, SimConfig};
use rooflut::step::{
    DecodeGroup, Drafting, LatencyModel, RooflineModel, StepBatch, TabulatedModel, Tally,
    TimeSources,
};
use rooflut::units::Seconds;

/// Largest number of tokens of a step that is tabulated.
const MAX_TABULATED: u32 = 8_192;

/// The served model, and the draft model that runs after each of its steps, if there is one.
pub(crate) struct ServedModel {
    target: TabulatedModel,
    draft: Option<(TabulatedModel, u32)>,
}

impl ServedModel {
    /// Tabulates steps of up to `max_num_batched_tokens` tokens of the target, and of the draft model if there
    /// is one.
    pub(crate) fn new(deployment: &Deployment, config: &SimConfig) -> ServedModel {
        let max_tokens = config.max_num_batched_tokens.min(MAX_TABULATED);
        let tabulated = |model: &RooflineModel| TabulatedModel::new(*model, max_tokens);
        let draft = deployment.draft_step_model().zip(config.speculation);
        ServedModel {
            target: tabulated(deployment.step_model()),
            draft: draft.map(|(draft, speculation)| (tabulated(draft), speculation.draft_tokens())),
        }
    }

    fn drafting(&self) -> Option<Drafting<&TabulatedModel, &TabulatedModel>> {
        let (draft, tokens) = self.draft.as_ref()?;
        Some(Drafting::new(&self.target, draft, *tokens))
    }
}

impl LatencyModel for ServedModel {
    fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
        match self.drafting() {
            None => self.target.total_time(batch),
            Some(drafting) => drafting.total_time(batch),
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

/// Adds up where the time of a run's steps goes.
pub(crate) struct StepTally<'m> {
    model: &'m ServedModel,
    target: Tally<'m>,
    draft: Option<Tally<'m>>,
}

impl<'m> StepTally<'m> {
    pub(crate) fn new(model: &'m ServedModel) -> StepTally<'m> {
        StepTally {
            model,
            target: Tally::new(&model.target),
            draft: model.draft.as_ref().map(|(draft, _)| Tally::new(draft)),
        }
    }

    /// Where the time of all steps went.
    pub(crate) fn sources(&self) -> TimeSources {
        let target = self.target.sources();
        self.draft_sources()
            .map_or(target, |draft| target.plus(&draft))
    }

    /// Where the time of the draft model went, if there is one.
    pub(crate) fn draft_sources(&self) -> Option<TimeSources> {
        self.draft.as_ref().map(Tally::sources)
    }
}

impl Observer for StepTally<'_> {
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
