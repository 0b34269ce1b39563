//! How long the steps of a simulated server take, draft model included.

use rooflut::Deployment;
use rooflut::sim::SimConfig;
use rooflut::step::{
    DecodeGroup, Drafting, LatencyModel, RooflineModel, StepBatch, StepTime, TabulatedModel, Tally,
    TimeSources,
};
use rooflut::units::Seconds;

/// Tokens of a step up to which its time is worked out beforehand.
const MOST_TABULATED: u32 = 8_192;

/// Step models with the times of small steps worked out.
pub(crate) struct Tabulated {
    target: TabulatedModel,
    draft: Option<(TabulatedModel, u32)>,
}

impl Tabulated {
    /// Works out steps of up to `max_num_batched_tokens` tokens of the target, and of the draft model if there
    /// is one.
    pub(crate) fn new(deployment: &Deployment, config: &SimConfig) -> Tabulated {
        let most = config.max_num_batched_tokens.min(MOST_TABULATED);
        let tabulated = |model: &RooflineModel| TabulatedModel::new(*model, most);
        let draft = deployment.draft_step_model().zip(config.speculation);
        Tabulated {
            target: tabulated(deployment.step_model()),
            draft: draft.map(|(draft, speculation)| (tabulated(draft), speculation.draft_tokens())),
        }
    }

    /// The models of a run.
    pub(crate) fn tally(&self) -> StepModel<'_> {
        StepModel {
            target: Tally::new(&self.target),
            draft: (self.draft.as_ref()).map(|(draft, tokens)| (Tally::new(draft), *tokens)),
        }
    }
}

/// The model that is served, and the draft model that runs after each of its steps, if there is one; both
/// remember where their time went.
pub(crate) struct StepModel<'m> {
    target: Tally<'m>,
    draft: Option<(Tally<'m>, u32)>,
}

impl<'m> StepModel<'m> {
    /// Where the time of all steps went.
    pub(crate) fn sources(&self) -> TimeSources {
        let target = self.target.sources();
        self.draft_sources()
            .map_or(target, |draft| target.plus(&draft))
    }

    /// Where the time of the draft model went, if there is one.
    pub(crate) fn draft_sources(&self) -> Option<TimeSources> {
        self.draft.as_ref().map(|(draft, _)| draft.sources())
    }

    fn drafting(&self) -> Option<Drafting<&Tally<'m>, &Tally<'m>>> {
        let (draft, tokens) = self.draft.as_ref()?;
        Some(Drafting::new(&self.target, draft, *tokens))
    }
}

impl LatencyModel for StepModel<'_> {
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
        match self.drafting() {
            None => self.target.step_time(batch),
            Some(drafting) => drafting.step_time(batch),
        }
    }

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
