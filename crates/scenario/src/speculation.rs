//! Speculative decoding of a run.

use rooflut::sim;
use rooflut::sim::figures::Drafts;
use rooflut_error::{Error, Kind, either, key, setting, value};
use rooflut_report::MeasuredAcceptance;

use crate::acceptance;
use crate::library::refused_setting;
use crate::model::Model;
use crate::scenario::{Scenario, Server};

/// Speculators of vLLM that are not known by name, their description, and the remedy. The dimensions of an EAGLE-3 head
/// are in a `config.json` of its own. DSpark drafts a block of tokens in one pass
/// (`vllm/v1/worker/gpu/spec_decode/dspark/speculator.py`).
const UNKNOWN: [(&str, &str); 2] = [
    (EAGLE3, "which is not a head by itself; give the config.json of one"),
    (
        "dspark",
        "a speculator of DeepSeek-V4, which rooflut does not model; use mtp if the model has such a layer, or ngram \
         with the acceptance of dspark, which leaves out the time to draft",
    ),
];

/// The method of EAGLE-3 heads.
const EAGLE3: &str = "eagle3";

/// Speculative decoding of a run.
#[derive(Debug, Clone)]
pub struct Speculation {
    /// The draft model, on the GPUs of the target; `None` for a lookup in the prompt and for an MTP layer.
    pub draft: Option<Model>,
    /// Drafted tokens and the number accepted.
    pub drafts: sim::Speculation,
    /// Probability that a drafted token is accepted if all drafted tokens before it are accepted.
    pub acceptance: f64,
    /// The measurement that `acceptance` comes from; `None` if the scenario gives it.
    pub measured: Option<MeasuredAcceptance>,
    seed: u64,
}

impl Speculation {
    /// The speculative decoding of `model` that a scenario asks for, if it does.
    pub(crate) fn try_of(
        scenario: &Scenario,
        model: &Model,
        draft: Option<Model>,
    ) -> Result<Option<Speculation>, Error> {
        let (server, seed) = (&scenario.server, scenario.workload.seed());
        let Some(tokens) = server.draft_tokens else {
            return Ok(None);
        };
        let (acceptance, measured) = match server.acceptance {
            Some(given) => (given, None),
            None => {
                let method = match &draft {
                    Some(draft) => draft.spec.eagle3.map(|_| EAGLE3),
                    None => server.has_mtp().then_some("mtp"),
                };
                let measured = method.and_then(|method| acceptance::measured(&model.name, method, tokens));
                let measured = measured.ok_or_else(|| no_acceptance(tokens))?;
                (acceptance::rate(tokens, measured.tokens_per_step), Some(measured))
            }
        };
        let drafts = sim::Speculation::try_new(tokens, acceptance, seed).map_err(refused_setting)?;
        Ok(Some(Speculation {
            drafts: match (&draft, server.has_mtp()) {
                (Some(draft), _) if draft.spec.eagle3.is_none() => drafts.with_draft_model(),
                (None, false) => drafts,
                _ => drafts.with_mtp(),
            },
            draft,
            acceptance,
            measured,
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
            measured_acceptance: self.measured.clone(),
            draft_model: self.draft_name(),
            seed: self.seed,
            tokens_per_step_expected: self.drafts.tokens_per_step(),
            tokens_per_step: drafts.map(Drafts::tokens_per_step),
            accepted_share: drafts.map(Drafts::accepted_share),
            draft_time_share,
        }
    }
}

/// Drafts whose acceptance is neither given nor measured.
fn no_acceptance(draft_tokens: u32) -> Error {
    let known = acceptance::known().into_iter().map(|(draft_model, [few, many], models)| {
        let drafts = setting("draft_tokens", format!("{few} to {many}"));
        let drafter = match draft_model {
            EAGLE3 => "an EAGLE-3 head".to_owned(),
            name => setting("draft_model", name).to_string(),
        };
        format!("{} with {drafter} and {drafts}", models.join(" and "))
    });
    let text = format!(
        "{} needs {}, which has a default for {} only; add it",
        setting("draft_tokens", draft_tokens),
        key("acceptance"),
        either(&known.collect::<Vec<_>>())
    );
    Error::new(Kind::Conflict, text).about(["draft_tokens"])
}

impl Server {
    /// Returns the name and description of the draft model if it is a speculator that is not known by name.
    pub(crate) fn unknown_draft(&self) -> Option<&'static (&'static str, &'static str)> {
        let draft = self.draft_model.as_deref()?;
        UNKNOWN.iter().find(|(name, _)| name.eq_ignore_ascii_case(draft))
    }

    /// Rejects speculators that are not known by name.
    pub(crate) fn check_draft_model(&self) -> Result<(), Error> {
        self.unknown_draft().map_or(Ok(()), |(name, description)| {
            let expected = "mtp, ngram, a model with its own weights or the config.json of an EAGLE-3 head";
            Err(value("draft_model", expected, format!("{name}, {description}")))
        })
    }
}

#[cfg(test)]
mod tests {
    use rooflut::model::{self, ModelSpec};

    use super::*;

    /// Speculative decoding of a model with these drafts, and an acceptance if one is given.
    fn speculation(
        name: &str,
        draft_model: &str,
        draft_tokens: u32,
        acceptance: Option<f64>,
    ) -> Result<Speculation, Error> {
        let mut scenario = Scenario::default();
        scenario.server.draft_model = Some(draft_model.to_owned());
        scenario.server.draft_tokens = Some(draft_tokens);
        scenario.server.acceptance = acceptance;
        scenario.check()?;
        let model = Model::new(name, model::find(name).unwrap().spec);
        let draft = scenario.server.draft_model().map(|name| Model::new(name, head(&model.spec)));
        Speculation::try_of(&scenario, &model, draft).map(Option::unwrap)
    }

    /// An EAGLE-3 head as wide as its target.
    fn head(target: &ModelSpec) -> ModelSpec {
        let head = ModelSpec::builder().hidden(target.hidden).layers(1).q_heads(64).kv_heads(8).head_dim(128);
        let head = head.intermediate(18_432).target_hidden(target.hidden).aux_states(3).draft_vocab(32_000);
        head.vocab(target.vocab).max_model_len(2_048).build().unwrap()
    }

    const QWEN: &str = "qwen3.5-397b-a17b";

    #[test]
    fn drafts_without_an_acceptance_yield_the_measured_tokens_per_step() {
        let lengths = [1.93, 2.73, 3.39, 3.97, 4.41, 4.80, 5.04, 5.21];
        for (draft_tokens, length) in (1..).zip(lengths) {
            for name in ["mtp", "MTP"] {
                let found = speculation(QWEN, name, draft_tokens, None).unwrap();
                assert!((found.drafts.tokens_per_step() - length).abs() < 1e-9, "{draft_tokens}");
                assert_eq!(found.measured.map(|measured| measured.tokens_per_step), Some(length));
                assert!(found.drafts.is_mtp());
            }
        }
        assert!((speculation(QWEN, "mtp", 1, None).unwrap().acceptance - 0.93).abs() < 1e-12);
    }

    #[test]
    fn an_eagle3_head_has_the_acceptance_of_its_target_and_is_scheduled_as_a_layer() {
        for (name, length) in [("kimi-k2.5", 2.88), ("minimax-m3", 2.83)] {
            let found = speculation(name, "head/config.json", 3, None).unwrap();
            assert!((found.drafts.tokens_per_step() - length).abs() < 1e-9);
            assert_eq!((found.drafts.is_mtp(), found.draft_name()), (true, "head/config.json".to_owned()));
            let measured = found.measured.unwrap();
            assert_eq!((measured.tokens_per_step, measured.prompts.as_str()), (length, "coding prompts, thinking on"));
        }
        assert!(speculation("kimi-k2.5", "head/config.json", 9, None).is_err());
    }

    #[test]
    fn a_given_acceptance_replaces_the_measured_one() {
        for given in [0.0, 0.5, 1.0] {
            let found = speculation(QWEN, "mtp", 2, Some(given)).unwrap();
            assert_eq!((found.acceptance, found.measured), (given, None));
        }
        assert!(speculation("deepseek-v3", "mtp", 2, Some(0.5)).is_ok());
    }

    #[test]
    fn drafts_without_a_measurement_need_an_acceptance() {
        let cases = [
            (QWEN, "mtp", 9),
            (QWEN, "ngram", 2),
            ("deepseek-v3", "mtp", 1),
            ("glm-5-fp8", "mtp", 1),
            ("kimi-k2.5", "mtp", 1),
            (QWEN, "head/config.json", 1),
        ];
        for (name, draft_model, draft_tokens) in cases {
            let error = speculation(name, draft_model, draft_tokens, None).unwrap_err();
            assert_eq!(error.kind(), Kind::Conflict);
            assert_eq!(
                error.to_string(),
                format!(
                    "draft_tokens = {draft_tokens} needs acceptance, which has a default for qwen3.5-397b-a17b and \
                     glm-5.2-fp8 with draft_model = mtp and draft_tokens = 1 to 8 or kimi-k2.5 and minimax-m3 with an \
                     EAGLE-3 head and draft_tokens = 1 to 8 only; add it"
                )
            );
        }
    }

    #[test]
    fn speculators_that_are_not_known_by_name_are_rejected() {
        for (name, description) in [("eagle3", "which is not a head"), ("DSpark", "a speculator of DeepSeek-V4")] {
            let error = speculation("kimi-k2.5", name, 2, Some(0.5)).unwrap_err();
            assert_eq!(error.keys(), ["draft_model"]);
            let found = format!("found {}, {description}", name.to_lowercase());
            assert!(error.to_string().contains(&found), "{error}");
        }
    }

    #[test]
    fn a_measured_acceptance_depends_on_the_seed() {
        let is_random = |draft_tokens, acceptance| {
            let mut server = Server::default();
            (server.draft_tokens, server.acceptance) = (draft_tokens, acceptance);
            server.is_random()
        };
        assert!(is_random(Some(2), None));
        assert!(is_random(Some(2), Some(0.5)));
        assert!(!is_random(Some(2), Some(1.0)));
        assert!(!is_random(None, None));
    }
}
