//! The simulated server: a model on GPUs, its step model and its limits.

use std::fmt;

use rooflut::deployment::{Deployment, DeploymentBuilder, DeploymentError};
use rooflut::engine::EngineStack;
use rooflut::hardware::Dtype;
use rooflut::model::{MemoryError, ModelSpec};
use rooflut::sim::SimConfig;
use rooflut::table::{Strictness, TableSet, sets};

use crate::args::{PolicyArgs, ServerArgs, Target};
use crate::error::Error;
use crate::model_source::{self, NamedModel};
use crate::refusal::Refusal;
use crate::speculation::Speculating;
use crate::table_set;

/// Ranks that are tried where a set has no all-reduce.
const MOST_RANKS: u32 = 8;

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
        model.spec.check_tp(self.tp).map_err(|error| Error::Tp {
            model: model.to_string(),
            error: match &model.keys {
                Some(keys) => keys.rename(error),
                None => error,
            },
            possible: self.possible_tp(&model.spec).collect(),
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
            } => Error::DoesNotFit {
                model: match draft {
                    Some(draft) => format!("{} with {draft}", self.model),
                    None => self.model.to_string(),
                },
                gpu: self.set.gpu().name.to_string(),
                tp: self.tp,
                utilization: deployment.memory_limits().gpu_memory_utilization,
                needed_bytes,
                usable_bytes,
                fitting: self.fitting(deployment),
            },
            error => Error::Memory(error),
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
        let refused = |model: &NamedModel, error| {
            Error::Step(Refusal {
                model: model.to_string(),
                error,
                other_sets: self.other_sets(&model.spec, strictness),
            })
        };
        let of_draft = || draft.unwrap_or(&self.model);
        deployment
            .strictness(strictness)
            .build()
            .map_err(|error| match error {
                DeploymentError::Model(error) => refused(&self.model, error),
                DeploymentError::Draft(error) => refused(of_draft(), error),
                DeploymentError::DraftVocabulary { found, expected } => Error::DraftVocabulary {
                    draft: of_draft().to_string(),
                    found,
                    model: self.model.to_string(),
                    expected,
                },
                DeploymentError::DraftContext { longest, found } => Error::DraftContext {
                    draft: of_draft().to_string(),
                    longest,
                    found,
                },
                DeploymentError::Memory(error) => Error::Memory(error),
                DeploymentError::Limits(error) => Error::Sim(error),
                other => Error::Arguments(other.to_string()),
            })
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
