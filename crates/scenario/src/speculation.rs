//! Speculative decoding of a run.

use rooflut::sim;
use rooflut::sim::figures::Drafts;

use crate::model::Model;
use crate::run_error::RunError;
use crate::scenario::Scenario;

/// Speculative decoding of a run.
#[derive(Debug, Clone)]
pub struct Speculation {
    /// The draft model, on the GPUs of the target; `None` for a lookup in the prompt and for an MTP layer.
    pub draft: Option<Model>,
    /// Drafted tokens and the number accepted.
    pub drafts: sim::Speculation,
    /// Probability that a drafted token is accepted if all drafted tokens before it are accepted.
    pub acceptance: f64,
    seed: u64,
}

impl Speculation {
    /// The speculative decoding that a scenario asks for, if it does.
    pub(crate) fn try_of(scenario: &Scenario, draft: Option<Model>) -> Result<Option<Speculation>, RunError> {
        let (server, seed) = (&scenario.server, scenario.workload.seed());
        let (Some(tokens), Some(acceptance)) = (server.draft_tokens, server.acceptance) else {
            return Ok(None);
        };
        let drafts = sim::Speculation::try_new(tokens, acceptance, seed)?;
        Ok(Some(Speculation {
            drafts: match (&draft, server.has_mtp()) {
                (Some(_), _) => drafts.with_draft_model(),
                (None, true) => drafts.with_mtp(),
                (None, false) => drafts,
            },
            draft,
            acceptance,
            seed,
        }))
    }

    /// Draws the acceptances from another seed.
    pub(crate) fn reseed(&mut self, seed: u64) {
        self.drafts = self.drafts.with_seed(seed);
        self.seed = seed;
    }

    /// The name of the draft model, `mtp` for an MTP layer, `ngram` for a lookup in the prompt.
    pub fn draft_name(&self) -> String {
        match &self.draft {
            Some(draft) => draft.to_string(),
            None if self.drafts.is_mtp() => "mtp".to_owned(),
            None => "ngram".to_owned(),
        }
    }

    pub(crate) fn report(&self, drafts: Option<&Drafts>, draft_time_share: Option<f64>) -> rooflut_report::Speculation {
        rooflut_report::Speculation {
            draft_tokens: self.drafts.draft_tokens(),
            acceptance: self.acceptance,
            draft_model: self.draft_name(),
            seed: self.seed,
            tokens_per_step_expected: self.drafts.tokens_per_step(),
            tokens_per_step: drafts.map(Drafts::tokens_per_step),
            accepted_share: drafts.map(Drafts::accepted_share),
            draft_time_share,
        }
    }
}
