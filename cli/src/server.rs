//! The simulated server: a model on GPUs, its step model and its limits.

use std::fmt;

use rooflut::engine::EngineStack;
use rooflut::hardware::Dtype;
use rooflut::model::{MemoryError, MemoryLimits, MemoryPlan, ModelSpec};
use rooflut::sim::{Scheduling, SimConfig};
use rooflut::step::{ModelError, Parallelism, RooflineModel, StepOptions};
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
    pub(crate) set: &'static TableSet,
    pub(crate) tp: u32,
    pub(crate) kv_dtype: Dtype,
    pub(crate) engine: &'static EngineStack,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gpus = if self.tp == 1 { "" } else { "s" };
        let (model, gpu) = (&self.model, self.set.gpu.name);
        write!(f, "{model} on {} {gpu} GPU{gpus}", self.tp)
    }
}

impl Placement {
    /// Finds model and table set, and checks that the ranks can share the model.
    pub(crate) fn find(target: &Target) -> Result<Placement, Error> {
        let set = table_set::find(target.set())?;
        let model = model_source::find(&target.model)?.with_weights(target.dtype);
        Placement::of(model, set, target)
    }

    /// A draft model, with its own weights, on the same GPUs.
    pub(crate) fn of_draft(&self, name: &str, target: &Target) -> Result<Placement, Error> {
        Placement::of(model_source::find(name)?, self.set, target)
    }

    fn of(model: NamedModel, set: &'static TableSet, target: &Target) -> Result<Placement, Error> {
        let placement = Placement {
            model,
            set,
            tp: target.tp,
            kv_dtype: target.kv_dtype,
            engine: target.engine,
        };
        let spec = &placement.model.spec;
        spec.check_tp(target.tp).map_err(|error| Error::Tp {
            model: placement.model.to_string(),
            error: match &placement.model.keys {
                Some(keys) => keys.rename(error),
                None => error,
            },
            possible: placement.possible_tp().collect(),
        })?;
        Ok(placement)
    }

    /// The step model.
    pub(crate) fn roofline(&self, strictness: Strictness) -> Result<RooflineModel, Error> {
        self.roofline_on(self.set, strictness).map_err(|error| {
            Error::Step(Refusal {
                model: self.model.to_string(),
                error,
                other_sets: self.other_sets(strictness),
            })
        })
    }

    fn roofline_on(
        &self,
        set: &'static TableSet,
        strictness: Strictness,
    ) -> Result<RooflineModel, ModelError> {
        let mut options = StepOptions::for_engine(self.engine);
        options.kv_dtype = self.kv_dtype;
        options.strictness = strictness;
        let parallelism = Parallelism::tensor(self.tp);
        RooflineModel::try_new(&self.model.spec, set, parallelism, options)
    }

    /// The sets on which the step model can be made.
    fn other_sets(&self, strictness: Strictness) -> Vec<&'static str> {
        let works = |set: &&'static TableSet| self.roofline_on(set, strictness).is_ok();
        sets::ALL
            .into_iter()
            .filter(works)
            .map(|set| set.name)
            .collect()
    }

    /// The limits of the server, KV blocks included.
    pub(crate) fn config(
        &self,
        args: &ServerArgs,
        policy: &PolicyArgs,
        speculating: Option<&Speculating>,
    ) -> Result<SimConfig, Error> {
        let spec = &self.model.spec;
        let most_drafted = speculating.map_or(u32::MAX, Speculating::max_model_len);
        let longest = spec.max_model_len.min(most_drafted);
        let max_model_len = args.max_model_len.unwrap_or(longest);
        if max_model_len > most_drafted {
            return Err(Error::DraftContext {
                draft: speculating.map_or(String::new(), Speculating::draft_name),
                longest: most_drafted,
                found: max_model_len,
            });
        }
        let kv_blocks = match args.kv_blocks {
            Some(blocks) => blocks,
            None => self.kv_blocks(args, speculating.and_then(|of| of.draft.as_ref()))?,
        };
        let mut config = SimConfig::new(max_model_len, kv_blocks).with_engine(self.engine);
        config.max_num_seqs = args.max_num_seqs;
        config.max_num_batched_tokens = args.max_num_batched_tokens;
        if let Some(speculating) = speculating {
            config.speculation = Some(speculating.speculation);
            config.scheduling = Scheduling::Synchronous;
        }
        if let Some(scheduling) = args.scheduling {
            config.scheduling = scheduling.into();
        }
        config.policy = policy.policy.into();
        config.max_waiting = policy.max_waiting;
        config.prefix_caching = policy.prefix_caching.into();
        Ok(config)
    }

    /// KV blocks that the model and its draft model leave room for.
    fn kv_blocks(&self, args: &ServerArgs, draft: Option<&Placement>) -> Result<u32, Error> {
        let limits = MemoryLimits {
            gpu_memory_utilization: args.gpu_memory_utilization,
            max_num_batched_tokens: args.max_num_batched_tokens,
            kv_dtype: self.kv_dtype,
            ..MemoryLimits::default()
        };
        let plan = |tp| {
            let plan = MemoryPlan::try_new(&self.model.spec, &self.set.gpu, tp, limits)?;
            match draft {
                Some(draft) => plan.with_draft(&draft.model.spec, tp, limits),
                None => Ok(plan),
            }
        };
        match plan(self.tp) {
            Ok(plan) => Ok(plan.kv_blocks),
            Err(MemoryError::DoesNotFit {
                needed_bytes,
                usable_bytes,
            }) => {
                let mut larger = self.possible_tp().filter(|&tp| tp > self.tp);
                Err(Error::DoesNotFit {
                    model: match draft {
                        Some(draft) => format!("{} with {}", self.model, draft.model),
                        None => self.model.to_string(),
                    },
                    gpu: self.set.gpu.name,
                    tp: self.tp,
                    utilization: args.gpu_memory_utilization,
                    needed_bytes,
                    usable_bytes,
                    fitting: larger.find_map(|tp| Some((tp, plan(tp).ok()?.kv_blocks))),
                })
            }
            Err(error) => Err(Error::Memory(error)),
        }
    }

    /// The tensor parallelisms that divide the model and that the set can reduce over, ascending.
    fn possible_tp(&self) -> impl Iterator<Item = u32> {
        let spec: ModelSpec = self.model.spec;
        let ranks = self.set.allreduce.iter().flat_map(|table| table.entries);
        let most = ranks.map(|entry| entry.shape.ranks).max();
        (1..=most.unwrap_or(MOST_RANKS)).filter(move |&tp| spec.check_tp(tp).is_ok())
    }
}
