//! Speculative decoding, as `rooflut run` has it.

use rooflut::deployment::DeploymentBuilder;
use rooflut::sim::Speculation;
use rooflut::sim::figures::Drafts;
use rooflut::step::TimeSources;
use serde::Serialize;

use crate::args::{DraftModel, SpeculationArgs};
use crate::error::Error;
use crate::model_source::{self, NamedModel};
use crate::output::{number, percent, plural};
use crate::server::Placement;

/// Speculative decoding of a run.
pub(crate) struct Speculating {
    /// Who drafts, on the GPUs of the target; `None` for a look-up in the prompt.
    pub(crate) draft: Option<NamedModel>,
    /// How many tokens, and how many are accepted.
    pub(crate) speculation: Speculation,
    acceptance: f64,
    seed: u64,
}

impl Speculating {
    /// What `args` ask for, if they do.
    pub(crate) fn find(
        args: &SpeculationArgs,
        placement: &Placement,
        seed: u64,
    ) -> Result<Option<Speculating>, Error> {
        let (Some(draft_tokens), Some(acceptance), Some(model)) =
            (args.draft_tokens, args.acceptance, &args.draft_model)
        else {
            return Ok(None);
        };
        let draft = match model {
            DraftModel::Ngram => None,
            DraftModel::Named(name) => Some(model_source::find(name)?),
        };
        if let Some(draft) = &draft {
            placement.check_tp(draft)?;
        }
        let speculation = Speculation::try_new(draft_tokens, acceptance, seed)?;
        Ok(Some(Speculating {
            draft,
            speculation,
            acceptance,
            seed,
        }))
    }

    /// Adds it to a deployment.
    pub(crate) fn apply(&self, deployment: DeploymentBuilder) -> DeploymentBuilder {
        let draft = self.draft.as_ref().map(|draft| draft.spec);
        deployment.speculation(self.speculation).draft_model(draft)
    }

    /// The longest request that drafts are proposed for.
    pub(crate) fn max_model_len(&self) -> u32 {
        let of = |draft: &NamedModel| draft.spec.max_model_len;
        self.draft.as_ref().map_or(u32::MAX, of)
    }

    /// Who drafts.
    pub(crate) fn draft_name(&self) -> String {
        self.draft
            .as_ref()
            .map_or("ngram".to_owned(), NamedModel::to_string)
    }

    /// What is asked for, for people.
    pub(crate) fn setup(&self) -> String {
        format!(
            "{} drafted by {}, {} of them accepted after an accepted one",
            plural(self.speculation.draft_tokens().into(), "token"),
            self.draft_name(),
            percent(100.0 * self.acceptance),
        )
    }

    /// What came of it, for people.
    pub(crate) fn figures(&self, drafts: &Drafts, share: Option<f64>) -> String {
        let of_draft = |share| {
            format!(
                ", the draft model takes {} of the time",
                percent(100.0 * share)
            )
        };
        format!(
            "{} tokens a request and step ({} expected), {} of the drafted tokens accepted{}",
            number(drafts.tokens_per_step(), 2),
            number(self.speculation.tokens_per_step(), 2),
            percent(100.0 * drafts.accepted_share()),
            share.map_or(String::new(), of_draft),
        )
    }

    /// Both for programs.
    pub(crate) fn json(&self, drafts: Option<&Drafts>, share: Option<f64>) -> SpeculationJson {
        SpeculationJson {
            draft_tokens: self.speculation.draft_tokens(),
            acceptance: self.acceptance,
            draft_model: self.draft_name(),
            seed: self.seed,
            tokens_per_step_expected: self.speculation.tokens_per_step(),
            tokens_per_step: drafts.map(Drafts::tokens_per_step),
            accepted_share: drafts.map(Drafts::accepted_share),
            draft_time_share: share,
        }
    }
}

/// The share of the draft model in the time of all steps.
pub(crate) fn draft_share(all: &TimeSources, draft: Option<&TimeSources>) -> Option<f64> {
    draft.map(|draft| draft.total().0 / all.total().0)
}

/// Speculative decoding, as JSON has it.
#[derive(Serialize)]
pub(crate) struct SpeculationJson {
    draft_tokens: u32,
    acceptance: f64,
    draft_model: String,
    seed: u64,
    tokens_per_step_expected: f64,
    /// None where no request decoded.
    tokens_per_step: Option<f64>,
    accepted_share: Option<f64>,
    /// None where no model drafts.
    draft_time_share: Option<f64>,
}
