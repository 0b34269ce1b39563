//! Step times of a deployment's server.

use alloc::boxed::Box;

use super::Deployment;
use crate::sim::Observer;
use crate::step::{
    DecodeGroup, Drafting, LatencyModel, RooflineModel, StepBatch, StepModel, StepTime, TabulatedModel, Tally,
    TimeSources,
};
use crate::units::Seconds;

/// Maximum number of tokens of a tabulated step; the times of larger steps are computed on demand.
const MAX_TABULATED: u32 = 8_192;

/// Predicts the step times of a [`Deployment`]'s server: those of the served model plus those of its draft model or MTP
/// layer, if any.
///
/// The times of small steps are tabulated, so a decode step costs a few nanoseconds.
#[derive(Debug, Clone)]
pub struct ServedModel(Served<TabulatedModel>);

/// The served model, and its draft model or MTP layer.
#[derive(Debug, Clone)]
struct Served<M> {
    target: M,
    /// Boxed, as a step model has many kilobytes and most servers draft nothing.
    draft: Option<Box<Draft<M>>>,
}

/// A draft model, MTP layer or EAGLE-3 head.
#[derive(Debug, Clone)]
struct Draft<M> {
    run: M,
    /// The first run over an EAGLE-3 head.
    first: Option<M>,
    /// Drafted tokens.
    tokens: u32,
    /// Whether it is an MTP layer or an EAGLE-3 head.
    is_head: bool,
}

impl ServedModel {
    pub(super) fn new(deployment: &Deployment) -> ServedModel {
        let max_tokens = deployment.memory_limits().max_num_batched_tokens;
        let tabulated = |model: &RooflineModel| TabulatedModel::new(model.clone(), max_tokens.min(MAX_TABULATED));
        let draft = deployment.draft_step_model().zip(deployment.given.speculation);
        let draft = draft.map(|(run, speculation)| Draft {
            run: tabulated(run),
            first: deployment.first_draft_step_model().map(tabulated),
            tokens: speculation.draft_tokens(),
            is_head: deployment.given.has_head(),
        });
        ServedModel(Served { target: tabulated(deployment.step_model()), draft: draft.map(Box::new) })
    }
}

impl<M> Draft<M> {
    /// Returns the draft with other models of its runs.
    fn map<'d, N>(&'d self, model: impl Fn(&'d M) -> N) -> Draft<N> {
        let Draft { run, first, tokens, is_head } = self;
        Draft { run: model(run), first: first.as_ref().map(&model), tokens: *tokens, is_head: *is_head }
    }
}

impl<M: LatencyModel> Served<M> {
    fn drafting(&self) -> Option<Drafting<&M, &M>> {
        let draft = self.draft.as_ref()?;
        let drafting = if draft.is_head { Drafting::with_mtp } else { Drafting::new };
        Some(drafting(&self.target, &draft.run, draft.tokens).with_first_run(draft.first.as_ref()))
    }
}

impl<M: LatencyModel> LatencyModel for Served<M> {
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

macro_rules! forward_to_served {
    ($($model:ty),+) => {$(
        impl LatencyModel for $model {
            #[inline]
            fn total_time(&self, batch: &StepBatch<'_>) -> Seconds {
                self.0.total_time(batch)
            }

            fn lockstep_time(&self, ranks: &mut dyn Iterator<Item = StepBatch<'_>>) -> Seconds {
                self.0.lockstep_time(ranks)
            }

            fn pipeline_times(&self, batch: &StepBatch<'_>, run: &mut dyn FnMut(Seconds)) {
                self.0.pipeline_times(batch, run);
            }

            #[inline]
            fn decode_time(&self, decode: DecodeGroup) -> Seconds {
                self.0.decode_time(decode)
            }
        }
    )+};
}

forward_to_served!(ServedModel, ServedTally<'_>);

impl StepModel for ServedModel {
    fn step_time(&self, batch: &StepBatch<'_>) -> StepTime {
        match self.0.drafting() {
            None => self.0.target.step_time(batch),
            Some(drafting) => drafting.step_time(batch),
        }
    }
}

/// Adds up the sources of a server's step times.
///
/// As a latency model it answers as its [`ServedModel`], to the bit, and adds each step whose time it returns. It is also
/// an observer of servers with another model, at the cost of a second lookup of attention in each step.
///
/// ```
/// use rooflut::deployment::ServedTally;
/// use rooflut::sim::{Request, Simulator};
/// use rooflut::table::sets;
/// use rooflut::{Deployment, model};
///
/// let llama = model::find("llama-3.1-8b").expect("in the catalogue");
/// let deployment = Deployment::builder(llama.spec, &sets::H100).build()?;
/// let model = deployment.served_model();
/// let tally = ServedTally::new(&model);
/// Simulator::try_new(&tally, deployment.server_config()?)?.run(&[Request::new(512, 128)])?;
/// // Small kernels, sampling and the like are in no table.
/// assert!((0.05..0.3).contains(&tally.sources().fitted_share()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ServedTally<'m>(Served<Tally<'m>>);

impl<'m> ServedTally<'m> {
    /// Creates an empty tally.
    pub fn new(ServedModel(model): &'m ServedModel) -> ServedTally<'m> {
        ServedTally(Served {
            target: Tally::new(&model.target),
            draft: model.draft.as_ref().map(|draft| Box::new(draft.map(Tally::new))),
        })
    }

    /// Leaves attention and the host out, as [`Tally::without_attention`].
    #[must_use]
    pub fn without_attention(self) -> ServedTally<'m> {
        let Served { target, draft } = self.0;
        ServedTally(Served {
            target: target.without_attention(),
            draft: draft.map(|draft| Box::new(draft.map(|tally| tally.clone().without_attention()))),
        })
    }

    /// Returns the sources of the time of all steps, including the draft model's.
    pub fn sources(&self) -> TimeSources {
        let target = self.0.target.sources();
        self.draft_sources().map_or(target, |draft| target.plus(&draft))
    }

    /// Returns the sources of the time of the draft model's steps, if there is a draft model.
    pub fn draft_sources(&self) -> Option<TimeSources> {
        let draft = self.0.draft.as_ref()?;
        let further = draft.run.sources();
        Some(draft.first.as_ref().map_or(further, |first| first.sources().plus(&further)))
    }
}

impl Observer for ServedTally<'_> {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step_batch(&mut self, batch: &StepBatch<'_>) {
        self.0.target.add(batch);
        if let Some(drafting) = self.0.drafting() {
            drafting.draft_runs(batch, |draft, run| draft.add(run));
        }
    }
}
