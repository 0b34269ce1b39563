//! The simulated server: a model on GPUs, its step model and its limits.

use std::fmt;

use rooflut::deployment::{Deployment, DeploymentBuilder, DeploymentError};
use rooflut::engine::EngineStack;
use rooflut::hardware::Dtype;
use rooflut::model::{MemoryError, ModelSpec};
use rooflut::sim::{SimConfig, SimError};
use rooflut::table::{Strictness, TableSet, sets};

use crate::args::{PolicyArgs, ServerArgs, Target};
use crate::error::Error;
use crate::model_source::{self, NamedModel};
use crate::output::{count, either};
use crate::refusal::Refusal;
use crate::speculation::Speculating;
use crate::table_set;

/// Ranks that are tried where a set has no all-reduce.
const MOST_RANKS: u32 = 8;
const GIB: f64 = (1_u64 << 30) as f64;

/// A model, and the tables of the GPUs that it runs on.
pub(crate) struct Placement {
    pub(crate) model: NamedModel,
    pub(crate) set: TableSet,
    pub(crate) tp: u32,
    pub(crate) kv_dtype: Dtype,
    pub(crate) engine: &'static EngineStack,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gpus = if self.tp == 1 { "" } else { "s" };
        let (model, gpu) = (&self.model, self.set.gpu().name.as_str());
        write!(f, "{model} on {} {gpu} GPU{gpus}", self.tp)
    }
}

impl Placement {
    /// Finds model and table set, and checks that the ranks can share the model.
    pub(crate) fn find(target: &Target) -> Result<Placement, Error> {
        let placement = Placement {
            model: model_source::find(&target.model)?.with_weights(target.dtype),
            set: table_set::find(target.set())?,
            tp: target.tp,
            kv_dtype: target.kv_dtype,
            engine: target.engine,
        };
        placement.check_tp(&placement.model)?;
        Ok(placement)
    }

    /// Checks that the ranks can share `model`, the one that is served or its draft model.
    pub(crate) fn check_tp(&self, model: &NamedModel) -> Result<(), Error> {
        model.spec.check_tp(self.tp).map_err(|error| {
            let error = match &model.keys {
                Some(keys) => keys.rename(error),
                None => error,
            };
            let possible = self.possible_tp(&model.spec).map(|tp| tp.to_string());
            let possible = either(&possible.collect::<Vec<_>>());
            Error::about(&["tp"], format!("{model}: {error}; use --tp {possible}"))
        })
    }

    /// The model and nothing else of a server, for single steps.
    pub(crate) fn deploy(&self, strictness: Strictness) -> Result<Deployment, Error> {
        let deployment = self.on(&self.set, self.tp, &self.model.spec);
        self.build(deployment, strictness, None)
    }

    /// The server of the model, with its draft model if it has one.
    pub(crate) fn serve(
        &self,
        server: &ServerArgs,
        policy: &PolicyArgs,
        speculating: Option<&Speculating>,
        strictness: Strictness,
    ) -> Result<Deployment, Error> {
        let deployment = self.on(&self.set, self.tp, &self.model.spec);
        let deployment = server.apply(policy.apply(deployment));
        let draft = speculating.and_then(|speculating| speculating.draft.as_ref());
        let deployment = match speculating {
            Some(speculating) => speculating.apply(deployment),
            None => deployment,
        };
        self.build(deployment, strictness, draft)
    }

    /// The limits of the server, KV blocks included.
    pub(crate) fn config(
        &self,
        deployment: &Deployment,
        draft: Option<&NamedModel>,
    ) -> Result<SimConfig, Error> {
        deployment.server_config().map_err(|error| match error {
            MemoryError::DoesNotFit {
                needed_bytes,
                usable_bytes,
            } => {
                let model = match draft {
                    Some(draft) => format!("{} with {draft}", self.model),
                    None => self.model.to_string(),
                };
                let next_step = match self.fitting(deployment) {
                    Some((tp, kv_blocks)) => {
                        format!("use --tp {tp}, which leaves {kv_blocks} KV blocks")
                    }
                    None => "no --tp would do: use a smaller model or a larger GPU".to_owned(),
                };
                let message = format!(
                    "{model} does not fit {} with --tp {}: each GPU needs {:.1} GiB for weights, \
                     activations and one KV block and has {:.1} GiB at --gpu-memory-utilization {}, \
                     {:.1} GiB too little; {next_step}",
                    self.set.gpu().name.as_str(),
                    self.tp,
                    needed_bytes / GIB,
                    usable_bytes / GIB,
                    deployment.memory_limits().gpu_memory_utilization,
                    (needed_bytes - usable_bytes) / GIB,
                );
                Error::about(&["tp"], message)
            }
            error => error.into(),
        })
    }

    /// The smallest tensor parallelism above this one at which the models of `deployment` fit, and its KV blocks.
    fn fitting(&self, deployment: &Deployment) -> Option<(u32, u32)> {
        let mut larger = self
            .possible_tp(&self.model.spec)
            .filter(|&tp| tp > self.tp);
        larger.find_map(|tp| Some((tp, deployment.memory_plan_at(tp).ok()?.kv_blocks)))
    }

    fn on(&self, set: &TableSet, tp: u32, spec: &ModelSpec) -> DeploymentBuilder {
        let deployment = Deployment::builder(*spec, set).tp(tp);
        deployment.kv_dtype(self.kv_dtype).engine(self.engine)
    }

    fn build(
        &self,
        deployment: DeploymentBuilder,
        strictness: Strictness,
        draft: Option<&NamedModel>,
    ) -> Result<Deployment, Error> {
        deployment
            .strictness(strictness)
            .build()
            .map_err(|error| self.build_error(error, strictness, draft))
    }

    /// The error of a deployment in the words of the command line.
    fn build_error(
        &self,
        error: DeploymentError,
        strictness: Strictness,
        draft: Option<&NamedModel>,
    ) -> Error {
        let refused = |model: &NamedModel, error| {
            Error::new(Refusal {
                model: model.to_string(),
                error,
                other_sets: self.other_sets(&model.spec, strictness),
            })
        };
        let of_draft = || draft.unwrap_or(&self.model);
        match error {
            DeploymentError::Model(error) => refused(&self.model, error),
            DeploymentError::Draft(error) => refused(of_draft(), error),
            DeploymentError::DraftVocabulary { found, expected } => Error::about(
                &["draft-model"],
                format!(
                    "--draft-model {}: expected the vocabulary of {}, {} tokens, found {}; use a \
                     smaller model of the same family",
                    of_draft(),
                    self.model,
                    count(expected.into()),
                    count(found.into())
                ),
            ),
            DeploymentError::DraftContext { longest, found } => Error::about(
                &["max-model-len"],
                format!(
                    "--max-model-len: expected at most {}, where the draft model {} ends, found {}; \
                     lower it, or use another draft model",
                    count(longest.into()),
                    of_draft(),
                    count(found.into())
                ),
            ),
            DeploymentError::Limits(SimError::BudgetBelowSequences {
                max_num_batched_tokens,
                max_num_seqs,
                tokens_per_request,
            }) => {
                let times = match tokens_per_request {
                    1 => String::new(),
                    tokens => format!(" x {tokens} tokens with drafts"),
                };
                Error::about(
                    &["max-num-batched-tokens", "max-num-seqs", "draft-tokens"],
                    format!(
                        "--max-num-batched-tokens: expected at least --max-num-seqs \
                         {max_num_seqs}{times}, found {max_num_batched_tokens}; raise it, or lower \
                         --max-num-seqs"
                    ),
                )
            }
            other => other.into(),
        }
    }

    /// The sets on which a model of these dimensions has a step model.
    fn other_sets(&self, spec: &ModelSpec, strictness: Strictness) -> Vec<&'static str> {
        let works = |set: &&'static TableSet| {
            let deployment = self.on(set, self.tp, spec).strictness(strictness);
            deployment.build().is_ok()
        };
        sets::ALL
            .into_iter()
            .filter(works)
            .map(|set| set.name())
            .collect()
    }

    /// The tensor parallelisms that divide a model and that the set can reduce over, ascending.
    fn possible_tp(&self, spec: &ModelSpec) -> impl Iterator<Item = u32> {
        let spec = *spec;
        let ranks = self.set.all_reduce();
        let ranks = ranks.into_iter().flat_map(|table| table.entries());
        let most = ranks.map(|entry| entry.shape.ranks).max();
        (1..=most.unwrap_or(MOST_RANKS)).filter(move |&tp| spec.check_tp(tp).is_ok())
    }
}
